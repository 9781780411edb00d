"""Keys and values of the records in ``__transaction_state``.

One record type: the transactional id, and the state of its transaction. Value version 1 is flexible
and carries, as tagged fields, what KIP-890 needs to tell one transaction of a producer from the next.
"""

from dataclasses import dataclass, field
from typing import Annotated, Final

from distributedlog.wire.primitives import Buffer
from distributedlog.wire.schema import Int8, Int16, Int32, Int64, tagged
from distributedlog.wire.values.record_types import RecordType, RecordTypes
from distributedlog.wire.values.unknown import UnknownKey
from distributedlog.wire.values.versioned import Versioned


@dataclass(slots=True)
class TransactionLogKey:
    transactional_id: str = ""


@dataclass(slots=True)
class TransactionPartitions:
    topic: str = ""
    partition_ids: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class TransactionLogValue:
    producer_id: Int64 = 0
    previous_producer_id: Annotated[Int64, tagged(0, "1+")] = -1
    next_producer_id: Annotated[Int64, tagged(1, "1+")] = -1
    producer_epoch: Int16 = 0
    next_producer_epoch: Annotated[Int16, tagged(3, "1+")] = -1
    transaction_timeout_ms: Int32 = 0
    transaction_status: Int8 = 0
    transaction_partitions: list[TransactionPartitions] | None = field(default_factory=list)
    transaction_last_update_timestamp_ms: Int64 = 0
    transaction_start_timestamp_ms: Int64 = 0
    client_transaction_version: Annotated[Int16, tagged(2, "1+")] = 0


TRANSACTION_RECORD_TYPES: Final = RecordTypes(
    RecordType(0, TransactionLogKey, Versioned(TransactionLogValue, last=1, flexible_from=1))
)


def encode_transaction_key(key: TransactionLogKey) -> bytes:
    """The key of a record."""
    return TRANSACTION_RECORD_TYPES.encode_key(key)


def decode_transaction_key(data: Buffer) -> TransactionLogKey | UnknownKey:
    """The key of a record; an `UnknownKey` where its type is none of ours."""
    key: TransactionLogKey | UnknownKey = TRANSACTION_RECORD_TYPES.decode_key(data)
    return key


def encode_transaction_value(value: TransactionLogValue, version: int | None = None) -> bytes:
    """The value of a record, in its newest version where none is named."""
    return TRANSACTION_RECORD_TYPES.encode_value(value, version)


def decode_transaction_value(key: TransactionLogKey, data: Buffer | None) -> TransactionLogValue | None:
    """The value that belongs to a key; None for the null that deletes it."""
    value: TransactionLogValue | None = TRANSACTION_RECORD_TYPES.decode_value(key, data)
    return value
