"""Is a batch what it says it is? From the cheapest question to the dearest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distributedlog.records.batches import verify_crc
from distributedlog.records.compression import DECOMPRESSED_SIZE_MAX
from distributedlog.records.decoding import check_counts
from distributedlog.records.errors import CorruptBatchError, InvalidRecordError
from distributedlog.records.header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_PRODUCER_ID,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Compression,
    parse_header,
)
from distributedlog.records.reading import open_batch

if TYPE_CHECKING:
    from distributedlog.records.header import Buffer


def validate_batch(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header of a sound batch: whole, CRC right, codec known, count and offsets possible.

    The records stay closed. A batch without records is sound: compaction leaves such to keep a
    producer's last sequence number, with the offsets it had. Anything else is CorruptBatchError.
    """
    header = parse_header(buffer, position)
    size = header.batch_length + LOG_OVERHEAD
    if size > len(buffer) - position:
        raise CorruptBatchError(
            f"batch at position {position} is {size} bytes long, but {len(buffer) - position} are left"
        )
    verify_crc(buffer, position, header)
    codec = header.attributes & COMPRESSION_MASK
    if codec > Compression.ZSTD:
        raise CorruptBatchError(
            f"batch at offset {header.base_offset} names compression {codec}, which does not exist"
        )
    check_counts(header, size - HEADER_SIZE, is_compressed=codec != Compression.NONE)
    return header


def validate_records(
    buffer: Buffer, position: int = 0, *, decompressed_size_max: int = DECOMPRESSED_SIZE_MAX
) -> BatchHeader:
    """As `validate_batch`, and every record can be read: lengths, increasing offsets, the count."""
    header = validate_batch(buffer, position)
    batch = bytes(memoryview(buffer)[position : position + header.size])
    open_batch(batch, 0, header, decompressed_size_max)
    return header


def validate_produced(header: BatchHeader) -> None:
    """InvalidRecordError if a client may not send a batch with this (sound) header to a broker.

    What compaction may leave in a log, no producer may send: offsets without records, or none at all.
    Control batches are the broker's own, and an idempotent producer numbers what it sends.
    """
    if header.base_offset != 0:
        raise InvalidRecordError(
            f"produced batch has base offset {header.base_offset}; a producer's is always 0"
        )
    if header.records_count < 1 or header.records_count != header.last_offset_delta + 1:
        raise InvalidRecordError(
            f"produced batch has {header.records_count} records at {header.last_offset_delta + 1} offsets"
        )
    if header.attributes & CONTROL_BIT:
        raise InvalidRecordError("produced batch is a control batch, which only brokers write")
    if header.producer_id > NO_PRODUCER_ID:
        if header.producer_epoch < 0 or header.base_sequence < 0:
            raise InvalidRecordError(
                f"batch of producer {header.producer_id} has epoch {header.producer_epoch} "
                f"and first sequence {header.base_sequence}"
            )
    elif header.attributes & TRANSACTIONAL_BIT:
        raise InvalidRecordError("produced batch is transactional, but names no producer")
