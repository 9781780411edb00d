"""A Kafka-compatible streaming platform in Python.

``from distributedlog import Log`` is the embedded log: the engine without a broker. Its errors are in
``distributedlog.errors``. `Producer`, `Consumer` and `Admin`, and `AsyncProducer`, `AsyncConsumer` and
`AsyncAdmin` for asyncio, are clients of any Kafka-compatible cluster; their errors are in
``distributedlog.client.errors``. Names are imported when they are first used, so that ``import
distributedlog`` costs next to nothing.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from distributedlog.client.admin.admin import Admin
    from distributedlog.client.admin.async_admin import AsyncAdmin
    from distributedlog.client.consumer.async_consumer import AsyncConsumer
    from distributedlog.client.consumer.consumer import Consumer
    from distributedlog.client.consumer.exactly_once import exactly_once
    from distributedlog.client.consumer.record import ConsumerRecord
    from distributedlog.client.metadata import TopicPartition
    from distributedlog.client.producer.async_producer import AsyncProducer
    from distributedlog.client.producer.producer import Producer
    from distributedlog.log import Entry, FixedRecordLog, Log, LogError, LogReader, Record

    __version__: str

__all__ = [
    "Admin",
    "AsyncAdmin",
    "AsyncConsumer",
    "AsyncProducer",
    "Consumer",
    "ConsumerRecord",
    "Entry",
    "FixedRecordLog",
    "Log",
    "LogError",
    "LogReader",
    "Producer",
    "Record",
    "TopicPartition",
    "__version__",
    "exactly_once",
]

_HOMES: Final = {
    "Admin": "client.admin.admin",
    "AsyncAdmin": "client.admin.async_admin",
    "AsyncConsumer": "client.consumer.async_consumer",
    "AsyncProducer": "client.producer.async_producer",
    "Consumer": "client.consumer.consumer",
    "ConsumerRecord": "client.consumer.record",
    "Entry": "log",
    "FixedRecordLog": "log",
    "Log": "log",
    "LogError": "log",
    "LogReader": "log",
    "Producer": "client.producer.producer",
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
    import importlib  # noqa: PLC0415 (lazy on purpose)

    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
