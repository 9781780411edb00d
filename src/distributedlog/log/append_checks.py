"""What a batch must be before it may enter a log [pure].

The broker looks at headers only (a batch stays opaque), so this is the whole gate: sizes, magic,
CRC, counts, and the timestamp bounds by the batch's largest timestamp.
"""

from typing import Final

from crc32c import crc32c

from distributedlog.log.config import LogConfig
from distributedlog.log.errors import InvalidRecord, InvalidTimestamp, RecordTooLarge
from distributedlog.log.files import Buffer
from distributedlog.records import HEADER, HEADER_SIZE, LOG_OVERHEAD, CorruptBatchError

CRC_START: Final = 21
#: What `HEADER.unpack_from` gives, in wire order.
HeaderFields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]


def checked_header(data: Buffer, position: int, end: int, message_bytes_max: int) -> HeaderFields:
    """The header of the batch at ``position``, once its bytes are known to be sound."""
    if end - position < HEADER_SIZE:
        raise CorruptBatchError(f"{end - position} bytes where a batch header of {HEADER_SIZE} should be")
    fields: HeaderFields = HEADER.unpack_from(data, position)
    size = fields[1] + LOG_OVERHEAD
    if fields[3] != 2:
        raise CorruptBatchError(f"record batch of magic {fields[3]}; only magic 2 is stored")
    if size < HEADER_SIZE or size > end - position:
        raise CorruptBatchError(f"batch length {fields[1]} does not fit the {end - position} bytes given")
    if size > message_bytes_max:
        raise RecordTooLarge(size, message_bytes_max)
    if crc32c(memoryview(data)[position + CRC_START : position + size]) != fields[4]:
        raise CorruptBatchError("the CRC of the batch does not fit its bytes")
    return fields


def check_produced(fields: HeaderFields) -> None:
    """Beyond soundness: what a producer may not send but a replica may (batches thinned by compaction)."""
    if fields[12] < 1 or fields[6] != fields[12] - 1:
        raise InvalidRecord(f"a produced batch of {fields[12]} records with last offset delta {fields[6]}")


def check_timestamp(max_timestamp: int, config: LogConfig, now_ms: int) -> None:
    """Kafka's bounds on what a producer may claim about time, by the batch's largest timestamp."""
    if now_ms - max_timestamp > config.message_timestamp_before_max_ms or (
        max_timestamp - now_ms > config.message_timestamp_after_max_ms
    ):
        raise InvalidTimestamp(
            f"timestamp {max_timestamp} is further from the clock, {now_ms}, than "
            "message.timestamp.before.max.ms and message.timestamp.after.max.ms allow"
        )


def checked_batches(data: Buffer, config: LogConfig) -> list[tuple[int, HeaderFields]]:
    """Position and header of every batch in the data, all of them sound."""
    end = len(data)
    fields = checked_header(data, 0, end, config.max_message_bytes)
    if end > config.segment_bytes:
        raise RecordTooLarge(end, config.segment_bytes)
    position = fields[1] + LOG_OVERHEAD
    batches = [(0, fields)]
    while position < end:
        fields = checked_header(data, position, end, config.max_message_bytes)
        batches.append((position, fields))
        position += fields[1] + LOG_OVERHEAD
    return batches


def checked_replica_batches(
    data: Buffer, config: LogConfig, log_end_offset: int
) -> list[tuple[int, HeaderFields]]:
    """The same for batches that a leader has numbered: their offsets may have gaps, never step back."""
    batches: list[tuple[int, HeaderFields]] = []
    position, end = 0, len(data)
    while position < end or not batches:
        fields = checked_header(data, position, end, config.segment_bytes)
        if fields[0] < log_end_offset or fields[6] < 0:
            raise InvalidRecord(f"the leader sent offset {fields[0]} where {log_end_offset} or more was due")
        batches.append((position, fields))
        log_end_offset = fields[0] + fields[6] + 1
        position += fields[1] + LOG_OVERHEAD
    return batches


def check_from_client(fields: HeaderFields, config: LogConfig, now_ms: int) -> None:
    """What only a client can do wrong."""
    count = fields[12]
    if count < 1 or fields[6] != count - 1:
        check_produced(fields)
    if not config.is_log_append_time:
        check_timestamp(fields[8], config, now_ms)
