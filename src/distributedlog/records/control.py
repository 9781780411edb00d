"""Control batches: what brokers write between the records, and clients skip.

A control record's key says its type: int16 version (0), int16 type. The value depends on the type; that of
a transaction marker is int16 version (0), int32 coordinator epoch. Longer keys and values are of later
versions, whose beginning is the same.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from distributedlog.records.builder import BatchBuilder
from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import NO_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID

if TYPE_CHECKING:
    from distributedlog.records.record import Record

_KEY: Final = Struct(">hh")
_MARKER_VALUE: Final = Struct(">hi")
_VERSION: Final = 0


class ControlType(IntEnum):
    """What a control record says. All but the first two belong to KRaft."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_TYPES: Final = {int(control_type): control_type for control_type in ControlType}


class ControlRecord(NamedTuple):
    """A control record, understood. `coordinator_epoch` is -1 for all but transaction markers."""

    control_type: ControlType
    coordinator_epoch: int
    value: bytes | None


def build_control_batch(
    control_type: ControlType,
    timestamp: int,
    *,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    coordinator_epoch: int = 0,
    value: bytes | None = None,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """A batch with one control record.

    COMMIT and ABORT end the transaction of a producer, who must be named, and make their own value; the
    other types carry the `value` that is given.
    """
    if control_type == ControlType.UNKNOWN:
        raise ValueError("a control record of unknown type is only ever read")
    is_marker = control_type in (ControlType.COMMIT, ControlType.ABORT)
    if is_marker:
        if producer_id < 0 or producer_epoch < 0:
            raise ValueError(f"a {control_type.name} marker needs the producer's id and epoch")
        value = _MARKER_VALUE.pack(_VERSION, coordinator_epoch)
    builder = BatchBuilder(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=is_marker,
        is_control=True,
    )
    builder.append(timestamp, _KEY.pack(_VERSION, control_type), value)
    return builder.build(base_offset, leader_epoch)


def parse_control_record(record: Record) -> ControlRecord:
    """The meaning of a record of a control batch; a type of later days is UNKNOWN, and to be skipped."""
    key = record.key
    if key is None or len(key) < _KEY.size:
        raise CorruptBatchError(f"control record at offset {record.offset} has no key that says its type")
    version, type_number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatchError(f"control record at offset {record.offset} has key version {version}")
    control_type = _TYPES.get(type_number, ControlType.UNKNOWN)
    if control_type not in (ControlType.COMMIT, ControlType.ABORT):
        return ControlRecord(control_type, -1, record.value)
    if record.value is None or len(record.value) < _MARKER_VALUE.size:
        raise CorruptBatchError(f"transaction marker at offset {record.offset} has no coordinator epoch")
    version, coordinator_epoch = _MARKER_VALUE.unpack_from(record.value)
    if version < 0:
        raise CorruptBatchError(f"transaction marker at offset {record.offset} has version {version}")
    return ControlRecord(control_type, coordinator_epoch, record.value)
