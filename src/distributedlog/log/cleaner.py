"""Compaction of a log: from dirty segments to ones that hold the last record of each key [io].

Like flushing, it has three steps. The owner of the log makes a `CompactionJob`, any thread runs it
(it reads sealed segments, which nobody changes, and writes ``.cleaned`` files), and the owner swaps
the results in, group by group. Appends and reads go on all the while.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from distributedlog.log.compaction_plan import CompactionPlan, group_segments
from distributedlog.log.compaction_transactions import TransactionWalk
from distributedlog.log.config import LogConfig
from distributedlog.log.errors import CompactionMapTooSmall, CorruptLog, DiskFull
from distributedlog.log.files import FULL_DISK_ERRORS, Files
from distributedlog.log.producer_updates import EndMarker, read_end_marker
from distributedlog.log.retention import SegmentView
from distributedlog.log.segment import Segment
from distributedlog.log.swap import CLEANED_SUFFIX
from distributedlog.log.transaction_index import AbortedTransaction
from distributedlog.records import (
    HEADER_SIZE,
    BatchHeader,
    CorruptBatchError,
    iterate_batches,
    parse_header,
)
from distributedlog.records.compaction import HASH_KEY_SIZE, Compactor, Treatment, make_compactor

CHUNK_BYTES: Final = 8 << 20
#: Kafka's log.cleaner.dedupe.buffer.size.
MAP_BYTES_MAX: Final = 128 << 20


@dataclass(frozen=True, slots=True)
class LastOfProducer:
    """Where an active producer's last sequence number stands: a batch that must not vanish whole."""

    last_offset: int | None
    producer_epoch: int


@dataclass(slots=True)
class CompactionStats:
    """What a compaction did."""

    records_read: int = 0
    records_kept: int = 0
    bytes_read: int = 0
    bytes_kept: int = 0
    keys: int = 0


@dataclass(slots=True)
class CompactionJob:
    """One compaction. Made by `PartitionLog.begin_compaction`, taken in by `complete_compaction`."""

    files: Files
    directory: Path
    config: LogConfig
    plan: CompactionPlan
    segments: list[tuple[SegmentView, Segment]]
    aborted: list[AbortedTransaction]
    last_of_producers: dict[int, LastOfProducer]
    now_ms: int
    map_bytes_max: int = MAP_BYTES_MAX
    #: How often the log had been cut when the job was made: what it read may since have been replaced.
    cuts: int = 0
    #: Filled by `run`: the groups of segments that each have their ``.cleaned`` successor now, and the
    #: offset up to which the log is clean when they are swapped in.
    groups: list[list[Segment]] = field(default_factory=list)
    clean_to_offset: int = 0
    stats: CompactionStats = field(default_factory=CompactionStats)

    def run(self) -> None:
        """Build the map of last offsets over the dirty part, then rewrite everything below its end."""
        try:
            self._run()
        except BaseException as error:
            self.discard()
            if isinstance(error, OSError) and error.errno in FULL_DISK_ERRORS:
                raise DiskFull(str(self.directory)) from error
            raise

    def discard(self) -> None:
        """Remove what was written and is not to be swapped in."""
        for name in os.listdir(self.directory):
            if name.endswith(CLEANED_SUFFIX):
                self.files.unlink_if_there(self.directory / name)
        self.groups.clear()

    def _run(self) -> None:
        compactor = make_compactor(self.map_bytes_max, secrets.token_bytes(HASH_KEY_SIZE))
        self.clean_to_offset = self._map_dirty(compactor)
        self.stats.keys = compactor.size
        views = [view for view, _ in self.segments if view.base_offset < self.clean_to_offset]
        by_base_offset = {view.base_offset: segment for view, segment in self.segments}
        walk = TransactionWalk(self.aborted)
        for group in group_segments(views, self.config.segment_bytes):
            old = [by_base_offset[view.base_offset] for view in group]
            self._clean(old, compactor, walk)
            self.groups.append(old)

    def _map_dirty(self, compactor: Compactor) -> int:
        """Note the last offset of each key; the offset up to which the map could take them all."""
        start = self.plan.first_dirty_offset
        walk = TransactionWalk(item for item in self.aborted if item.last_offset >= start)
        for view, segment in self.segments:
            if view.next_base_offset <= start:
                continue
            for data, headers in whole_batches(segment):
                taken = [self._is_mapped(header, walk, data, position) for position, header in headers]
                with damage_named(segment):
                    count = compactor.map_keys(data, taken, start)
                if count < len(headers):
                    end_offset = headers[count][1].base_offset
                    if end_offset <= start:
                        raise CompactionMapTooSmall(
                            str(self.directory), self.map_bytes_max, compactor.keys_max
                        )
                    return end_offset
        return self.plan.end_offset

    def _is_mapped(self, header: BatchHeader, walk: TransactionWalk, data: bytes, position: int) -> bool:
        """Not what was aborted: it must not outlive a committed record of the same key."""
        if header.is_control:
            marker = _marker_of(header, data, position)
            if marker is not None:
                walk.may_drop_marker(header.producer_id, header.base_offset, is_abort=marker.is_abort)
            return False
        return not walk.is_aborted(
            header.producer_id, header.last_offset, is_transactional=header.is_transactional
        )

    def _clean(self, old: list[Segment], compactor: Compactor, walk: TransactionWalk) -> None:
        """Write the ``.cleaned`` files that are to replace a group of segments."""
        new = Segment(
            self.files,
            self.directory,
            old[0].base_offset,
            index_interval_bytes=self.config.index_interval_bytes,
            index_bytes_max=self.config.segment_index_bytes,
            file_suffix=CLEANED_SUFFIX,
        )
        new.create()
        horizon_ms = self.now_ms + self.config.delete_retention_ms
        for segment in old:
            for data, headers in whole_batches(segment):
                treatments = [self._treatment(header, walk, data, at) for at, header in headers]
                with damage_named(segment):
                    compacted = compactor.compact(data, treatments, horizon_ms)
                self._write(new, compacted.batches)
                self.stats.records_read += compacted.records_read
                self.stats.records_kept += compacted.records_kept
                self.stats.bytes_read += len(data)
                self.stats.bytes_kept += len(compacted.batches)
        for transaction in walk.take_kept():
            new.transaction_index.append(transaction)
        new.transaction_index.create()
        new.seal()
        new.sync_log()
        new.sync_indexes()
        new.close()

    def _write(self, new: Segment, batches: bytearray) -> None:
        if not batches:
            return
        new.write(batches, len(batches))
        for _, header in iterate_batches(batches):
            new.note_batch(header.size, header.last_offset, header.max_timestamp)

    def _treatment(self, header: BatchHeader, walk: TransactionWalk, data: bytes, position: int) -> Treatment:
        treatment = Treatment.NONE
        if self._must_not_vanish(header):
            treatment |= Treatment.KEEP_EMPTY
        horizon_ms = header.delete_horizon_ms
        horizon_is_past = horizon_ms is not None and horizon_ms <= self.now_ms
        if not header.is_control:
            if walk.is_aborted(
                header.producer_id, header.last_offset, is_transactional=header.is_transactional
            ):
                return treatment | Treatment.DISCARD_RECORDS
            return treatment | Treatment.DROP_TOMBSTONES if horizon_is_past else treatment
        if header.records_count == 0:
            return treatment | Treatment.DISCARD_RECORDS
        marker = _marker_of(header, data, position)
        if marker is None or not walk.may_drop_marker(
            header.producer_id, header.base_offset, is_abort=marker.is_abort
        ):
            return treatment | Treatment.KEEP_RECORDS
        if horizon_is_past:
            return treatment | Treatment.DISCARD_RECORDS
        return treatment | Treatment.KEEP_RECORDS | Treatment.SET_HORIZON

    def _must_not_vanish(self, header: BatchHeader) -> bool:
        """The last offset of what is cleaned, and the last sequence number or epoch of a producer."""
        if header.next_offset == self.clean_to_offset:
            return True
        if header.producer_id < 0:
            return False
        last = self.last_of_producers.get(header.producer_id)
        if last is None:
            return False
        if last.last_offset is not None:
            return header.last_offset == last.last_offset
        return header.is_control and header.producer_epoch == last.producer_epoch


def whole_batches(segment: Segment) -> Iterator[tuple[bytes, list[tuple[int, BatchHeader]]]]:
    """A segment in chunks of whole batches, with their headers."""
    position = 0
    while position < segment.size:
        data = segment.region(position, min(CHUNK_BYTES, segment.size - position)).read()
        with damage_named(segment):
            if len(data) >= HEADER_SIZE and parse_header(data).size > len(data):
                data = segment.region(position, parse_header(data).size).read()
            headers = list(iterate_batches(data))
        if not headers:
            raise CorruptLog(str(segment.log.path), position, "no whole batch")
        at, last = headers[-1]
        yield data[: at + last.size], headers
        position += at + last.size


@contextmanager
def damage_named(segment: Segment) -> Iterator[None]:
    """Say which file it is that a damaged batch stands in."""
    try:
        yield
    except CorruptBatchError as error:
        raise CorruptLog(str(segment.log.path), 0, str(error)) from error


def _marker_of(header: BatchHeader, data: bytes, position: int) -> EndMarker | None:
    if header.records_count == 0:
        return None
    return read_end_marker(data[position : position + header.size])
