"""DescribeLogDirs (key 35), versions 1 to 5, flexible from 2.

Tells which replicas lie in which data directory of the broker asked, with their sizes, and how
far a replica that is being moved there lags behind. Null ``topics`` ask for all.

- 1: the broker answers before it throttles (KIP-219)
- 3: an error code for the whole answer, as when the caller is not authorised
- 4: size and free space of the volume (KIP-827)
- 5: whether a directory takes no new partitions (KIP-1066)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, Int64, ignorable, versions


@dataclass(slots=True)
class DescribableLogDirTopic:
    topic: str = ""
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class DescribeLogDirsRequest:
    topics: list[DescribableLogDirTopic] | None = field(default_factory=list)


@dataclass(slots=True)
class DescribeLogDirsPartition:
    partition_index: Int32 = 0
    partition_size: Int64 = 0
    offset_lag: Int64 = 0
    is_future_key: bool = False


@dataclass(slots=True)
class DescribeLogDirsTopic:
    name: str = ""
    partitions: list[DescribeLogDirsPartition] = field(default_factory=list)


@dataclass(slots=True)
class DescribeLogDirsResult:
    error_code: Int16 = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = field(default_factory=list)
    total_bytes: Annotated[Int64, versions("4+"), ignorable] = -1
    usable_bytes: Annotated[Int64, versions("4+"), ignorable] = -1
    is_cordoned: Annotated[bool, versions("5+"), ignorable] = False


@dataclass(slots=True)
class DescribeLogDirsResponse:
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, versions("3+"), ignorable] = 0
    results: list[DescribeLogDirsResult] = field(default_factory=list)
