"""One partition's log, in Kafka's formats, and the embedded `Log`."""

from distributedlog.log.appending import AppendResult
from distributedlog.log.config import FlushPolicy, LogConfig
from distributedlog.log.directory import LogDirectory
from distributedlog.log.embedded import Log
from distributedlog.log.entries import Entry
from distributedlog.log.errors import LogError
from distributedlog.log.files import REAL_FILES, FileRegion, Files
from distributedlog.log.fixed_record_log import FixedRecordLog
from distributedlog.log.flush import FlushJob
from distributedlog.log.loading import RecoveryReport, open_partition_log
from distributedlog.log.partition_log import PartitionLog
from distributedlog.log.producer_checks import AppendOrigin
from distributedlog.log.reader import LogReader
from distributedlog.log.reading import TimestampAndOffset
from distributedlog.log.transaction_verification import VerificationGuard
from distributedlog.records import Record

__all__ = [
    "REAL_FILES",
    "AppendOrigin",
    "AppendResult",
    "Entry",
    "FileRegion",
    "Files",
    "FixedRecordLog",
    "FlushJob",
    "FlushPolicy",
    "Log",
    "LogConfig",
    "LogDirectory",
    "LogError",
    "LogReader",
    "PartitionLog",
    "Record",
    "RecoveryReport",
    "TimestampAndOffset",
    "VerificationGuard",
    "open_partition_log",
]
