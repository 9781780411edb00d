"""A Kafka-compatible streaming platform in Python.

``from distributedlog import Log`` is the embedded log: the engine without a broker. Its errors are in
``distributedlog.errors``. `Producer` and `Admin`, and `AsyncProducer` and `AsyncAdmin` for asyncio, are
clients of any Kafka-compatible cluster; their errors are in ``distributedlog.client.errors``. Names are
imported when they are first used, so that ``import distributedlog`` costs next to nothing.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from distributedlog.client.admin.admin import Admin
    from distributedlog.client.admin.async_admin import AsyncAdmin
    from distributedlog.client.metadata import TopicPartition
    from distributedlog.client.producer.async_producer import AsyncProducer
    from distributedlog.client.producer.producer import Producer
    from distributedlog.log import Entry, FixedRecordLog, Log, LogError, LogReader, Record

    __version__: str

__all__ = [
    "Admin",
    "AsyncAdmin",
    "AsyncProducer",
    "Entry",
    "FixedRecordLog",
    "Log",
    "LogError",
    "LogReader",
    "Producer",
    "Record",
    "TopicPartition",
    "__version__",
]

_MODULE_OF: Final = {
    "Admin": "distributedlog.client.admin.admin",
    "AsyncAdmin": "distributedlog.client.admin.async_admin",
    "AsyncProducer": "distributedlog.client.producer.async_producer",
    "Producer": "distributedlog.client.producer.producer",
    "TopicPartition": "distributedlog.client.metadata",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from distributedlog.version import VERSION  # noqa: PLC0415 (lazy on purpose)

        return VERSION
    if name in __all__:
        import importlib  # noqa: PLC0415 (lazy on purpose)

        return getattr(importlib.import_module(_MODULE_OF.get(name, "distributedlog.log")), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
