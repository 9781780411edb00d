"""Walking and patching whole batches in a buffer, with their records left closed."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from crc32c import crc32c

from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import (
    ATTRIBUTES_POSITION,
    BATCH_LENGTH_POSITION,
    CRC_POSITION,
    HEADER_SIZE,
    LEADER_EPOCH_POSITION,
    LOG_OVERHEAD,
    MAX_TIMESTAMP_POSITION,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    parse_header,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributedlog.records.header import Buffer

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_UINT32: Final = Struct(">I")
_INT64: Final = Struct(">q")


def iterate_batches(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Each whole batch from `position` on as (position, header); a partial one at the end is left out.

    A fetch may end in the middle of a batch, so that is no error: `position + header.size` of the last
    pair says how far the whole batches reach. Headers that cannot be right raise CorruptBatchError;
    CRCs are not checked.
    """
    end = len(buffer)
    while end - position >= HEADER_SIZE:
        header = parse_header(buffer, position)
        size = header.batch_length + LOG_OVERHEAD
        if size > end - position:
            return
        yield position, header
        position += size


def patch_base_offset(
    batch: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int
) -> None:
    """Give the batch its place in the log. Both fields lie outside the CRC, which stays right."""
    _INT64.pack_into(batch, position, base_offset)
    _INT32.pack_into(batch, position + LEADER_EPOCH_POSITION, leader_epoch)


def set_log_append_time(batch: bytearray | memoryview, position: int, timestamp_ms: int) -> None:
    """Let every record of the batch carry the broker's time, and make the CRC anew.

    Only the header changes: readers of a LogAppendTime batch give each record its max_timestamp and
    ignore the deltas. The caller has validated the batch.
    """
    attributes = _INT16.unpack_from(batch, position + ATTRIBUTES_POSITION)[0] | TIMESTAMP_TYPE_BIT
    _INT16.pack_into(batch, position + ATTRIBUTES_POSITION, attributes)
    _INT64.pack_into(batch, position + MAX_TIMESTAMP_POSITION, timestamp_ms)
    write_crc(batch, position)


def write_crc(batch: bytearray | memoryview, position: int = 0) -> None:
    """Compute the CRC of the batch at `position`, which lies wholly in the buffer, and put it in place."""
    size = _INT32.unpack_from(batch, position + BATCH_LENGTH_POSITION)[0] + LOG_OVERHEAD
    with memoryview(batch)[position + ATTRIBUTES_POSITION : position + size] as covered:
        crc = crc32c(covered)
    _UINT32.pack_into(batch, position + CRC_POSITION, crc)


def verify_crc(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """CorruptBatchError unless the CRC of this batch, which lies wholly in the buffer, is right."""
    end = position + header.batch_length + LOG_OVERHEAD
    with memoryview(buffer)[position + ATTRIBUTES_POSITION : end] as covered:
        crc = crc32c(covered)
    if crc != header.crc:
        raise CorruptBatchError(
            f"batch at position {position}, offset {header.base_offset}, says its CRC is "
            f"{header.crc:#010x}, but it is {crc:#010x}"
        )
