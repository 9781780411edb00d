"""A Kafka-compatible streaming platform in Python.

``from distributedlog import Log`` is the embedded log: the engine without a broker. Its errors are in
``distributedlog.errors``. Names are imported when they are first used, so that ``import distributedlog``
costs next to nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.log import Entry, FixedRecordLog, Log, LogError, LogReader, Record

    __version__: str

__all__ = ["Entry", "FixedRecordLog", "Log", "LogError", "LogReader", "Record", "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from distributedlog.version import VERSION  # noqa: PLC0415 (lazy on purpose)

        return VERSION
    if name in __all__:
        from distributedlog import log  # noqa: PLC0415 (lazy on purpose)

        return getattr(log, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
