"""The 61 bytes in front of every record batch of format 2 (KIP-98).

    position  field                   type    inside the CRC
           0  base_offset             int64   no: the broker assigns it
           8  batch_length            int32   no: counts what follows it
          12  partition_leader_epoch  int32   no: the broker assigns it
          16  magic                   int8    no: always 2
          17  crc                     uint32  no: CRC32C of everything behind it
          21  attributes              int16   yes
          23  last_offset_delta       int32   yes
          27  base_timestamp          int64   yes
          35  max_timestamp           int64   yes
          43  producer_id             int64   yes
          51  producer_epoch          int16   yes
          53  base_sequence           int32   yes
          57  records_count           int32   yes
          61  the records, compressed as one block when attributes say so

Attributes: bits 0-2 compression, 3 timestamp type, 4 transactional, 5 control, 6 "base_timestamp holds
the delete horizon" (KIP-534). The struct and the positions are public because the log's append path
unpacks only the fields it needs.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from distributedlog.records.errors import CorruptBatchError

if TYPE_CHECKING:
    from typing import TypeAlias

    Buffer: TypeAlias = bytes | bytearray | memoryview

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = 61
LOG_OVERHEAD: Final = 12
"""Bytes of base_offset and batch_length, which batch_length itself does not count."""
MAGIC: Final = 2

BASE_OFFSET_POSITION: Final = 0
BATCH_LENGTH_POSITION: Final = 8
LEADER_EPOCH_POSITION: Final = 12
MAGIC_POSITION: Final = 16
CRC_POSITION: Final = 17
ATTRIBUTES_POSITION: Final = 21
LAST_OFFSET_DELTA_POSITION: Final = 23
BASE_TIMESTAMP_POSITION: Final = 27
MAX_TIMESTAMP_POSITION: Final = 35
PRODUCER_ID_POSITION: Final = 43
PRODUCER_EPOCH_POSITION: Final = 51
BASE_SEQUENCE_POSITION: Final = 53
RECORDS_COUNT_POSITION: Final = 57

COMPRESSION_MASK: Final = 0x07
TIMESTAMP_TYPE_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_LEADER_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1

BATCH_LENGTH_MIN: Final = HEADER_SIZE - LOG_OVERHEAD
INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)

_unpack_from = HEADER.unpack_from


class Compression(IntEnum):
    """How the records behind the header are compressed; the numbers are those of the attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TimestampType(IntEnum):
    """Whose clock the timestamps come from: each record's producer, or the broker's at the append."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


@dataclass(slots=True)
class BatchHeader:
    """One batch's header, its fields in wire order."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header and records."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The last record's sequence number; after 2**31-1 comes 0. NO_SEQUENCE without a sequence."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & INT32_MAX

    @property
    def compression(self) -> Compression:
        codec = self.attributes & COMPRESSION_MASK
        if codec > Compression.ZSTD:
            raise CorruptBatchError(
                f"batch at offset {self.base_offset} names compression {codec}, which does not exist"
            )
        return Compression(codec)

    @property
    def timestamp_type(self) -> TimestampType:
        return (
            TimestampType.LOG_APPEND_TIME
            if self.attributes & TIMESTAMP_TYPE_BIT
            else TimestampType.CREATE_TIME
        )

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When compaction may drop the batch's tombstones and markers; None until it has first seen them."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the header at `position` (not negative), whether or not the records behind it are there too.

    Raises CorruptBatchError when fewer than 61 bytes are left, when the magic is not 2, or when the
    length cannot even hold the header. The CRC is not looked at: see `validate_batch`.
    """
    try:
        header = BatchHeader(*_unpack_from(buffer, position))
    except struct.error:
        raise _short_header(buffer, position) from None
    if header.magic != MAGIC:
        raise _wrong_magic(header.magic, position)
    if header.batch_length < BATCH_LENGTH_MIN:
        raise CorruptBatchError(
            f"batch at position {position} says it is {header.batch_length} bytes long; "
            f"the least is {BATCH_LENGTH_MIN}"
        )
    return header


def _short_header(buffer: Buffer, position: int) -> CorruptBatchError:
    remaining = max(len(buffer) - position, 0)
    if remaining > MAGIC_POSITION and buffer[position + MAGIC_POSITION] != MAGIC:
        return _wrong_magic(int.from_bytes(buffer[position + MAGIC_POSITION :][:1], signed=True), position)
    return CorruptBatchError(
        f"{remaining} bytes at position {position} are too few for a batch header of {HEADER_SIZE}"
    )


def _wrong_magic(magic: int, position: int) -> CorruptBatchError:
    if magic in (0, 1):
        return CorruptBatchError(
            f"batch at position {position} has magic {magic}, a message format from before Kafka 0.11; "
            f"only magic {MAGIC} is served"
        )
    return CorruptBatchError(f"batch at position {position} has magic {magic}; only magic {MAGIC} is known")
