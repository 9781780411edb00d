"""What a client's batch must be before it goes to a log [pure]: the broker's rules, not the log's.

A produce request carries exactly one batch of format 2 per partition, numbered from 0. Whatever is wrong is
one of the errors that the log has too, so that there is one table from errors to codes. The CRC is the
log's to check, with the rest of the batch's soundness.
"""

from typing import Final

from distributedlog.log import LogConfig
from distributedlog.log.errors import InvalidRecord, InvalidTimestamp, RecordTooLarge
from distributedlog.log.files import Buffer
from distributedlog.records import HEADER, HEADER_SIZE, LOG_OVERHEAD, Compression, CorruptBatchError

#: What `HEADER.unpack_from` gives, in wire order.
HeaderFields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]

MAGIC: Final = 3
CRC: Final = 4
ATTRIBUTES: Final = 5
LAST_OFFSET_DELTA: Final = 6
MAX_TIMESTAMP: Final = 8
PRODUCER_ID: Final = 9
PRODUCER_EPOCH: Final = 10
BASE_SEQUENCE: Final = 11
RECORDS_COUNT: Final = 12

COMPRESSION_MASK: Final = 0x07
TIMESTAMP_TYPE_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
_REFUSED_BITS: Final = CONTROL_BIT | TRANSACTIONAL_BIT | TIMESTAMP_TYPE_BIT

_MAGIC_POSITION: Final = 16
#: Length, attributes, two deltas, two lengths and a header count, one byte each.
_RECORD_BYTES_MIN: Final = 7

_unpack_from = HEADER.unpack_from


def check_produced_batch(records: Buffer, config: LogConfig) -> HeaderFields:
    """The header of the one batch in ``records``, once it is what a client may send.

    Raises `InvalidRecord`, `InvalidTimestamp`, `RecordTooLarge` or `CorruptBatchError`.
    """
    size = len(records)
    if size < HEADER_SIZE:
        raise _too_short(records)
    fields: HeaderFields = _unpack_from(records)
    batch_size = fields[1] + LOG_OVERHEAD
    if fields[3] != 2:
        raise _wrong_magic(fields[3])
    if batch_size != size:
        raise _wrong_size(fields[1], size)
    if size > config.max_message_bytes:
        raise RecordTooLarge(size, config.max_message_bytes)
    if fields[0]:
        raise InvalidRecord(f"a produced batch begins at offset 0, this one at {fields[0]}")
    attributes = fields[ATTRIBUTES]
    count = fields[12]
    codec = attributes & COMPRESSION_MASK
    if codec:
        if codec > Compression.ZSTD:
            raise InvalidRecord(f"the batch names compression {codec}, which does not exist")
    elif count > (size - HEADER_SIZE) // _RECORD_BYTES_MIN:
        raise InvalidRecord(f"the batch says it has {count} records in {size - HEADER_SIZE} bytes")
    if attributes & _REFUSED_BITS:
        _check_bits(attributes, fields, config)
    return fields


def _check_bits(attributes: int, fields: HeaderFields, config: LogConfig) -> None:
    if attributes & CONTROL_BIT:
        raise InvalidRecord("clients may not write control records")
    if attributes & TRANSACTIONAL_BIT and fields[PRODUCER_ID] < 0:
        raise InvalidRecord("the batch is transactional but names no producer")
    if attributes & TIMESTAMP_TYPE_BIT and not config.is_log_append_time:
        raise InvalidTimestamp("only the broker may mark a batch's timestamps as LogAppendTime")


def _too_short(records: Buffer) -> InvalidRecord | CorruptBatchError:
    """Older formats have shorter headers: say what is wrong with them rather than that they are short."""
    if len(records) > _MAGIC_POSITION and records[_MAGIC_POSITION] < 2:
        return _wrong_magic(records[_MAGIC_POSITION])
    return InvalidRecord(f"a produce request has one whole batch per partition, not {len(records)} bytes")


def _wrong_magic(magic: int) -> InvalidRecord | CorruptBatchError:
    if magic in (0, 1):
        return InvalidRecord(f"only batches of magic 2 are accepted, this one has magic {magic}")
    return CorruptBatchError(f"the batch has magic {magic}, which no format has")


def _wrong_size(batch_length: int, size: int) -> InvalidRecord | CorruptBatchError:
    if batch_length + LOG_OVERHEAD < HEADER_SIZE:
        return CorruptBatchError(f"the batch says it is {batch_length} bytes long")
    if batch_length + LOG_OVERHEAD > size:
        return InvalidRecord(f"the batch is not whole: {size} of {batch_length + LOG_OVERHEAD} bytes")
    return InvalidRecord("a produce request has exactly one batch per partition")
