"""The way of checked and numbered batches into a log: the write, and what has to know of it [io].

`PartitionLog.append` gives offsets; here the bytes go to the active segment in one piece, and then its
indexes, the producer state and the log's end follow, in that order.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distributedlog.log.append_checks import HeaderFields
from distributedlog.log.files import Buffer
from distributedlog.log.producer_checks import AppendOrigin
from distributedlog.log.producer_updates import apply_batch, check_producer
from distributedlog.log.segment import RELATIVE_OFFSET_MAX
from distributedlog.log.transaction_verification import VerificationGuard
from distributedlog.records import LOG_OVERHEAD, BatchHeader, parse_header

if TYPE_CHECKING:
    from distributedlog.log.partition_log import PartitionLog

NO_APPEND_TIME: Final = -1

#: Position in the data, base offset in the log, header as it came.
PlacedBatch = tuple[int, int, HeaderFields]


@dataclass(slots=True)
class AppendResult:
    """What a producer is told. A duplicate gets the offsets of its first append."""

    first_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    is_duplicate: bool = False


def find_duplicate(
    log: "PartitionLog",
    data: Buffer,
    position: int,
    fields: HeaderFields,
    origin: AppendOrigin,
    guard: VerificationGuard | None,
    transaction_version: int,
) -> AppendResult | None:
    """What a producer was told when it sent this batch before; raises what it may not send."""
    header = BatchHeader(*fields)
    end = position + header.size
    first = check_producer(
        log.producer_states,
        header,
        lambda: bytes(data[position:end]),
        origin,
        guard,
        transaction_version,
    )
    if first is None:
        return None
    return AppendResult(
        first.first_offset, first.last_offset, NO_APPEND_TIME, log.log_start_offset, is_duplicate=True
    )


def write_placed(
    log: "PartitionLog", data: Buffer, batches: list[PlacedBatch], now_ms: int, append_time_ms: int
) -> AppendResult:
    """Write checked and numbered batches in one piece, then let the state follow."""
    size = len(data)
    _, last_base_offset, last_fields = batches[-1]
    last_offset = last_base_offset + last_fields[6]
    max_timestamp = append_time_ms if append_time_ms != NO_APPEND_TIME else batches[0][2][8]
    # A leader's gap lies within a segment, where recovery can tell it from a loss between two of them,
    # unless it is wider than a segment.
    is_wide = last_offset - log.log_end_offset > RELATIVE_OFFSET_MAX
    base_offset = batches[0][1] if is_wide else log.log_end_offset
    writer = log.writer
    writer.prepare(size, last_offset, max_timestamp, now_ms, base_offset)
    writer.write(data, size)
    log.log_end_offset = last_offset + 1
    active = writer.active
    for position, base_offset, fields in batches:
        timestamp = append_time_ms if append_time_ms != NO_APPEND_TIME else fields[8]
        active.note_batch(fields[1] + LOG_OVERHEAD, base_offset + fields[6], timestamp)
        if fields[9] >= 0:
            _update_producer(log, data, position)
    return AppendResult(batches[0][1], last_offset, append_time_ms, log.log_start_offset)


def _update_producer(log: "PartitionLog", data: Buffer, position: int) -> None:
    header = parse_header(data, position)
    end = position + header.size
    active = log.writer.active
    apply_batch(
        log.producer_states,
        header,
        lambda: bytes(data[position:end]),
        lambda: active.transaction_index,
    )
