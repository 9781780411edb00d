"""Which leader wrote which offsets: the start offset of every leader epoch in a log (KIP-101).

A follower or a consumer compares epochs with the leader through this table, to find the offset up to which
both hold the same records. The table itself is pure; LeaderEpochCheckpoint keeps it beside the log as Kafka's
`leader-epoch-checkpoint`, whose lines are `epoch start_offset`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from distributedlog.log.checkpoints import encode_checkpoint, read_checkpoint
from distributedlog.log.files import Files

LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
UNDEFINED_EPOCH: Final = -1
UNDEFINED_EPOCH_OFFSET: Final = -1

_INT32_MAX: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


_epoch_of = attrgetter("epoch")
_start_offset_of = attrgetter("start_offset")


class LeaderEpochFileCache:
    """Epochs with their start offsets, both strictly rising.

    Methods that change the table return whether they did, so that the caller knows when to write the
    checkpoint. `assign` must be on disk before the records it speaks of; a truncation may be written later,
    because opening the log truncates again.
    """

    __slots__ = ("_entries", "latest_epoch")

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._entries: list[EpochEntry] = []
        self.latest_epoch: int = UNDEFINED_EPOCH
        for entry in entries:
            self.assign(entry.epoch, entry.start_offset)

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` begins at `start_offset`. Entries that contradict the new one are dropped: the
        newest leader's word counts. Called for every append, so the usual case is the first line."""
        entries = self._entries
        if epoch == self.latest_epoch and entries and start_offset >= entries[-1].start_offset:
            return False
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"no leader epoch {epoch} can start at offset {start_offset}")
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self.latest_epoch = epoch
        return True

    def end_offset_for(self, requested_epoch: int, log_end_offset: int) -> EpochEntry:
        """The largest epoch not above the requested one, and the offset where it ends: where the next known
        epoch starts, or the log end for the latest. (-1, -1) when the epoch is unknown here; an epoch older
        than all known ones ends where the first known one starts, since its records are gone."""
        if requested_epoch == UNDEFINED_EPOCH:
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        if requested_epoch == self.latest_epoch:
            return EpochEntry(requested_epoch, log_end_offset)
        above = bisect_right(self._entries, requested_epoch, key=_epoch_of)
        if above == len(self._entries):
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        end_offset = self._entries[above].start_offset
        found_epoch = self._entries[above - 1].epoch if above else requested_epoch
        return EpochEntry(found_epoch, end_offset)

    def epoch_for_offset(self, offset: int) -> int | None:
        """The epoch whose leader wrote `offset`; None when that is before the first known epoch."""
        above = bisect_right(self._entries, offset, key=_start_offset_of)
        return self._entries[above - 1].epoch if above else None

    def truncate_from_end(self, end_offset: int) -> bool:
        """The log now ends at `end_offset`: drop the epochs that start there or later."""
        keep = bisect_left(self._entries, end_offset, key=_start_offset_of)
        if end_offset < 0 or keep == len(self._entries):
            return False
        del self._entries[keep:]
        self._note_latest()
        return True

    def truncate_from_start(self, start_offset: int) -> bool:
        """The log now starts at `start_offset`: that offset's epoch starts there, older ones are gone."""
        above = bisect_right(self._entries, start_offset, key=_start_offset_of)
        if above == 0:
            return False
        first = EpochEntry(self._entries[above - 1].epoch, start_offset)
        if above == 1 and first == self._entries[0]:
            return False
        self._entries[:above] = [first]
        return True

    def clear(self) -> bool:
        changed = bool(self._entries)
        self._entries.clear()
        self._note_latest()
        return changed

    def _note_latest(self) -> None:
        self.latest_epoch = self._entries[-1].epoch if self._entries else UNDEFINED_EPOCH


class LeaderEpochCheckpoint:
    """The table on disk, replaced whole at every write."""

    __slots__ = ("_files", "path")

    def __init__(self, files: Files, path: Path | str) -> None:
        self._files = files
        self.path = path

    def read(self) -> LeaderEpochFileCache:
        """CorruptLog when a line is damaged; the table is then rebuilt from the log's batches."""
        cache = LeaderEpochFileCache()
        last = EpochEntry(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        for line in read_checkpoint(self._files, self.path):
            epoch_text, offset_text = line.fields(2)
            entry = EpochEntry(
                line.integer(epoch_text, 0, _INT32_MAX), line.integer(offset_text, 0, _INT64_MAX)
            )
            if entry.epoch <= last.epoch or entry.start_offset <= last.start_offset:
                raise line.corrupt("epochs and their offsets must rise from line to line")
            cache.assign(entry.epoch, entry.start_offset)
            last = entry
        return cache

    def write(self, cache: LeaderEpochFileCache) -> None:
        lines = (f"{entry.epoch} {entry.start_offset}" for entry in cache.entries)
        self._files.write_atomically(self.path, encode_checkpoint(lines))
