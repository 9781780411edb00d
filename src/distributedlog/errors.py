"""Every error that the log raises, for ``except``: ``from distributedlog.errors import OffsetOutOfRange``."""

from distributedlog.log.errors import (
    CompactionMapTooSmall,
    CorruptLog,
    DirectoryLocked,
    DirectoryNotWritable,
    DiskFull,
    InvalidConfig,
    InvalidRecord,
    LogClosed,
    LogDirectoryOffline,
    LogError,
    LogNotFound,
    OffsetOutOfRange,
    ReadOnlyLog,
    RecordTooLarge,
    UnsupportedDirectoryVersion,
)

__all__ = [
    "CompactionMapTooSmall",
    "CorruptLog",
    "DirectoryLocked",
    "DirectoryNotWritable",
    "DiskFull",
    "InvalidConfig",
    "InvalidRecord",
    "LogClosed",
    "LogDirectoryOffline",
    "LogError",
    "LogNotFound",
    "OffsetOutOfRange",
    "ReadOnlyLog",
    "RecordTooLarge",
    "UnsupportedDirectoryVersion",
]
