"""DeleteRecords (key 21), versions 0 to 2, flexible from 2.

Deletes what lies before an offset in each partition; -1 stands for the high watermark. Only the
leader answers it, with the low watermark that the partition has afterwards.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16, Int32, Int64


@dataclass(slots=True)
class DeleteRecordsPartition:
    partition_index: Int32 = 0
    offset: Int64 = 0


@dataclass(slots=True)
class DeleteRecordsTopic:
    name: str = ""
    partitions: list[DeleteRecordsPartition] = field(default_factory=list)


@dataclass(slots=True)
class DeleteRecordsRequest:
    topics: list[DeleteRecordsTopic] = field(default_factory=list)
    timeout_ms: Int32 = 0


@dataclass(slots=True)
class DeleteRecordsPartitionResult:
    partition_index: Int32 = 0
    low_watermark: Int64 = 0
    error_code: Int16 = 0


@dataclass(slots=True)
class DeleteRecordsTopicResult:
    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class DeleteRecordsResponse:
    throttle_time_ms: Int32 = 0
    topics: list[DeleteRecordsTopicResult] = field(default_factory=list)
