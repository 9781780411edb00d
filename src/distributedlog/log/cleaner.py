"""Compaction of a log: from dirty segments to ones that hold the last record of each key [io].

Like flushing, it has three steps. The owner of the log makes a `CompactionJob`, any thread runs it
(it reads sealed segments, which nobody changes, and writes ``.cleaned`` files), and the owner swaps
the results in, group by group. Appends and reads go on all the while.
"""

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from distributedlog.log.compaction_plan import CompactionPlan, group_segments
from distributedlog.log.compaction_transactions import TransactionWalk
from distributedlog.log.config import LogConfig
from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import Files
from distributedlog.log.producer_updates import read_end_marker
from distributedlog.log.retention import SegmentView
from distributedlog.log.segment import Segment
from distributedlog.log.swap import CLEANED_SUFFIX
from distributedlog.log.transaction_index import AbortedTransaction
from distributedlog.records import BatchHeader, CorruptBatchError, iterate_batches
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
class CleanedGroup:
    """Sealed segments and the one, complete and synced, that is to take their place."""

    old: list[Segment]
    new: Segment


@dataclass(slots=True)
class CompactionJob:
    """One compaction. Made by `PartitionLog.begin_compaction`, taken in by `complete_compaction`."""

    files: Files
    config: LogConfig
    plan: CompactionPlan
    segments: list[tuple[SegmentView, Segment]]
    aborted: list[AbortedTransaction]
    last_of_producers: dict[int, LastOfProducer]
    now_ms: int
    map_bytes_max: int = MAP_BYTES_MAX
    #: Filled by `run`: what to swap in, and the offset up to which the log is clean then.
    groups: list[CleanedGroup] = field(default_factory=list)
    clean_to_offset: int = 0
    stats: CompactionStats = field(default_factory=CompactionStats)

    def run(self) -> None:
        """Build the map of last offsets over the dirty part, then rewrite everything below its end."""
        compactor = make_compactor(self.map_bytes_max, secrets.token_bytes(HASH_KEY_SIZE))
        self._map_dirty(compactor)
        self.stats.keys = compactor.size
        self.clean_to_offset = compactor.latest_offset + 1
        # A marker may lie behind the last record that the map accounts for.
        if self.clean_to_offset >= self.plan.end_offset or not self._is_cut_short:
            self.clean_to_offset = self.plan.end_offset
        views = [view for view, _ in self.segments if view.base_offset < self.clean_to_offset]
        by_base_offset = {view.base_offset: segment for view, segment in self.segments}
        walk = TransactionWalk(self.aborted)
        for group in group_segments(views, self.config.segment_bytes):
            old = [by_base_offset[view.base_offset] for view in group]
            self.groups.append(CleanedGroup(old, self._clean(old, compactor, walk)))
