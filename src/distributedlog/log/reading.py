"""Finding in a log: by offset a file region, by time an offset [io].

Nothing here decodes records, except for the one batch in which a timestamp look-up ends.
"""

from typing import NamedTuple

from distributedlog.log.batch_scan import BatchAt
from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import FileRegion
from distributedlog.log.segment import Segment
from distributedlog.log.segments import SegmentList
from distributedlog.records import CorruptBatchError, Record, decode_batch, validate_batch
from distributedlog.records.seeking import find_timestamp_in_batch


class TimestampAndOffset(NamedTuple):
    """A record found by its time, with the leader epoch of the batch it stands in."""

    timestamp: int
    offset: int
    leader_epoch: int


def read_region(
    segments: SegmentList, offset: int, upper_offset: int, bytes_max: int, *, at_least_one_batch: bool
) -> FileRegion | None:
    """Whole batches from the one that holds ``offset``, up to ``upper_offset``, within one segment.

    The first batch may start below ``offset``; the client drops what it did not ask for. A first
    batch larger than ``bytes_max`` is given all the same where ``at_least_one_batch`` (KIP-74), and
    the last may be cut in its middle, as Kafka cuts it. None when there is nothing to read yet.
    """
    for segment in segments.from_offset(offset):
        if segment.base_offset >= upper_offset:
            return None
        batch = segment.find(offset)
        if batch is None:
            continue
        limit = _position_of(segments, segment, upper_offset)
        if batch.position >= limit:
            return None
        if batch.size > bytes_max:
            return segment.region(batch.position, batch.size) if at_least_one_batch else None
        return segment.region(batch.position, min(bytes_max, limit - batch.position))
    return None


def _position_of(segments: SegmentList, segment: Segment, upper_offset: int) -> int:
    """Where in the segment the batches below ``upper_offset`` end."""
    next_base_offset = segments.next_base_offset(segment)
    if next_base_offset is not None and next_base_offset <= upper_offset:
        return segment.size
    batch = segment.find(upper_offset)
    return segment.size if batch is None else batch.position


def find_timestamp(
    segments: SegmentList, timestamp: int, log_start_offset: int, upper_offset: int
) -> TimestampAndOffset | None:
    """The first record, by offset, whose timestamp is at least this one: exact to the record."""
    for segment in segments.from_offset(log_start_offset):
        if segment.base_offset >= upper_offset:
            return None
        start_offset = log_start_offset
        while (batch := segment.find_by_timestamp(timestamp, start_offset)) is not None:
            if batch.base_offset >= upper_offset:
                return None
            found = _first_in_batch(
                segment, batch.position, batch.size, timestamp, log_start_offset, upper_offset
            )
            if found is not None:
                return TimestampAndOffset(*found, batch.leader_epoch)
            start_offset = batch.last_offset + 1
    return None


def _first_in_batch(
    segment: Segment, position: int, size: int, timestamp: int, start_offset: int, upper_offset: int
) -> tuple[int, int] | None:
    data = segment.region(position, size).read()
    try:
        header = validate_batch(data)
        return find_timestamp_in_batch(data, 0, header, timestamp, start_offset, upper_offset)
    except CorruptBatchError as error:
        raise CorruptLog(str(segment.log.path), position, str(error)) from error


def find_max_timestamp(
    segments: SegmentList, log_start_offset: int, upper_offset: int
) -> TimestampAndOffset | None:
    """The first of the records that share the largest timestamp between the two offsets."""
    best: TimestampAndOffset | None = None
    for segment in segments.from_offset(log_start_offset):
        if segment.base_offset >= upper_offset:
            break
        if best is not None and segment.max_timestamp <= best.timestamp:
            continue
        for batch in _batches_with_max_timestamp(segments, segment, log_start_offset, upper_offset):
            found = _largest_in_batch(segment, batch, log_start_offset, upper_offset)
            if found is not None and (best is None or found.timestamp > best.timestamp):
                best = found
    return best


def _batches_with_max_timestamp(
    segments: SegmentList, segment: Segment, log_start_offset: int, upper_offset: int
) -> list[BatchAt]:
    """By the time index where the whole segment counts, else by a walk over its headers.

    A header speaks for its whole batch, so one that only partly counts is given beside the best.
    """
    next_base_offset = segments.next_base_offset(segment)
    if segment.base_offset >= log_start_offset and (
        next_base_offset is not None and next_base_offset <= upper_offset
    ):
        found = segment.find_by_timestamp(segment.max_timestamp, log_start_offset)
        return [] if found is None else [found]
    best: BatchAt | None = None
    partial: list[BatchAt] = []
    for batch in segment.batches(segment.index_position(log_start_offset)):
        if batch.base_offset >= upper_offset:
            break
        if batch.last_offset < log_start_offset or not batch.records_count:
            continue
        if batch.base_offset < log_start_offset or batch.last_offset >= upper_offset:
            partial.append(batch)
        elif best is None or batch.max_timestamp > best.max_timestamp:
            best = batch
    return sorted(partial if best is None else [*partial, best])


def _largest_in_batch(
    segment: Segment, batch: BatchAt, start_offset: int, upper_offset: int
) -> TimestampAndOffset | None:
    found = [
        record
        for record in _decode(segment, batch.position, batch.size)
        if start_offset <= record.offset < upper_offset
    ]
    if not found:
        return None
    largest = max(found, key=lambda record: record.timestamp)
    return TimestampAndOffset(largest.timestamp, largest.offset, batch.leader_epoch)


def _decode(segment: Segment, position: int, size: int) -> list[Record]:
    try:
        return decode_batch(segment.region(position, size).read())
    except CorruptBatchError as error:
        raise CorruptLog(str(segment.log.path), position, str(error)) from error
