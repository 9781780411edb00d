"""AddPartitionsToTxn (key 24), versions 0 to 5, flexible from 3.

Makes partitions part of a transaction before its first write to them. Clients speak versions 0 to 3,
one transaction at a time; 4 and above are for brokers, who use them to verify (KIP-890). The two forms
share no field, hence the names beginning with ``v3_and_below``.

- 2: the error PRODUCER_FENCED
- 4: many transactions, ``verify_only``, an error of the whole response
- 5: the error TRANSACTION_ABORTABLE
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, Int64, ignorable, versions


@dataclass(slots=True)
class AddPartitionsToTxnTopic:
    name: str = ""
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class AddPartitionsToTxnTransaction:
    transactional_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    verify_only: bool = False
    topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)


@dataclass(slots=True)
class AddPartitionsToTxnRequest:
    transactions: Annotated[list[AddPartitionsToTxnTransaction], versions("4+")] = field(default_factory=list)
    v3_and_below_transactional_id: Annotated[str, versions("0-3")] = ""
    v3_and_below_producer_id: Annotated[Int64, versions("0-3")] = 0
    v3_and_below_producer_epoch: Annotated[Int16, versions("0-3")] = 0
    v3_and_below_topics: Annotated[list[AddPartitionsToTxnTopic], versions("0-3")] = field(
        default_factory=list
    )


@dataclass(slots=True)
class AddPartitionsToTxnPartitionResult:
    partition_index: Int32 = 0
    partition_error_code: Int16 = 0


@dataclass(slots=True)
class AddPartitionsToTxnTopicResult:
    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class AddPartitionsToTxnResult:
    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = field(default_factory=list)


@dataclass(slots=True)
class AddPartitionsToTxnResponse:
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, versions("4+"), ignorable] = 0
    results_by_transaction: Annotated[list[AddPartitionsToTxnResult], versions("4+")] = field(
        default_factory=list
    )
    results_by_topic_v3_and_below: Annotated[list[AddPartitionsToTxnTopicResult], versions("0-3")] = field(
        default_factory=list
    )
