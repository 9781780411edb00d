"""A Kafka-compatible streaming platform in Python.

``from distributedlog import Log`` is the embedded log: the engine without a broker. Its errors are in
``distributedlog.errors``. ``Consumer`` and ``AsyncConsumer`` read from any Kafka-compatible cluster. Names
are imported when they are first used, so that ``import distributedlog`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.client.consumer.async_consumer import AsyncConsumer
    from distributedlog.client.consumer.consumer import Consumer
    from distributedlog.client.consumer.exactly_once import exactly_once
    from distributedlog.client.consumer.record import ConsumerRecord
    from distributedlog.client.metadata import TopicPartition
    from distributedlog.log import Entry, FixedRecordLog, Log, LogError, LogReader, Record

    __version__: str

__all__ = [
    "AsyncConsumer",
    "Consumer",
    "ConsumerRecord",
    "Entry",
    "FixedRecordLog",
    "Log",
    "LogError",
    "LogReader",
    "Record",
    "TopicPartition",
    "__version__",
    "exactly_once",
]

_HOMES = {
    "AsyncConsumer": "client.consumer.async_consumer",
    "Consumer": "client.consumer.consumer",
    "ConsumerRecord": "client.consumer.record",
    "Entry": "log",
    "FixedRecordLog": "log",
    "Log": "log",
    "LogError": "log",
    "LogReader": "log",
    "Record": "log",
    "TopicPartition": "client.metadata",
    "exactly_once": "client.consumer.exactly_once",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from distributedlog.version import VERSION  # noqa: PLC0415 (lazy on purpose)

        return VERSION
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
