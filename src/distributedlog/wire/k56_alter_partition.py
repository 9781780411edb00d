"""AlterPartition (key 56), versions 2 to 3, flexible from 0.

A partition's leader asks the controller to change the set of in-sync replicas (KIP-497). The
partition epoch makes it a compare-and-set: a leader with a stale view is refused. Recovery state: 0
recovered, 1 still recovering after an unclean election.

- 2: topics by id (KIP-841)
- 3: each in-sync replica with its broker epoch, so that a restarted broker does not count as the
  one that was caught up (KIP-903)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int8, Int16, Int32, Int64, Uuid, ignorable, versions


@dataclass(slots=True)
class InSyncBroker:
    broker_id: Int32 = 0
    broker_epoch: Int64 = -1


@dataclass(slots=True)
class AlterPartitionPartition:
    partition_index: Int32 = 0
    leader_epoch: Int32 = 0
    new_isr: Annotated[list[Int32], versions("0-2")] = field(default_factory=list)
    new_isr_with_epochs: Annotated[list[InSyncBroker], versions("3+")] = field(default_factory=list)
    leader_recovery_state: Annotated[Int8, versions("1+")] = 0
    partition_epoch: Int32 = 0


@dataclass(slots=True)
class AlterPartitionTopic:
    topic_id: Annotated[Uuid, versions("2+"), ignorable] = ZERO_UUID
    partitions: list[AlterPartitionPartition] = field(default_factory=list)


@dataclass(slots=True)
class AlterPartitionRequest:
    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    topics: list[AlterPartitionTopic] = field(default_factory=list)


@dataclass(slots=True)
class AlterPartitionPartitionResult:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    isr: list[Int32] = field(default_factory=list)
    leader_recovery_state: Annotated[Int8, versions("1+"), ignorable] = 0
    partition_epoch: Int32 = 0


@dataclass(slots=True)
class AlterPartitionTopicResult:
    topic_id: Annotated[Uuid, versions("2+"), ignorable] = ZERO_UUID
    partitions: list[AlterPartitionPartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class AlterPartitionResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: list[AlterPartitionTopicResult] = field(default_factory=list)
