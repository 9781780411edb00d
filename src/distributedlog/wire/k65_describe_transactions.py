"""DescribeTransactions (key 65), version 0, flexible from 0.

Tells what the transaction coordinator knows of transactional ids: state, producer, start and
partitions (KIP-664). A negative start time means that no transaction was begun.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16, Int32, Int64


@dataclass(slots=True)
class DescribeTransactionsRequest:
    transactional_ids: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TransactionTopic:
    topic: str = ""
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class DescribedTransaction:
    error_code: Int16 = 0
    transactional_id: str = ""
    transaction_state: str = ""
    transaction_timeout_ms: Int32 = 0
    transaction_start_time_ms: Int64 = 0
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    topics: list[TransactionTopic] = field(default_factory=list)


@dataclass(slots=True)
class DescribeTransactionsResponse:
    throttle_time_ms: Int32 = 0
    transaction_states: list[DescribedTransaction] = field(default_factory=list)
