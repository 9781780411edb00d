"""What changed since the offset checkpoints were last written [io].

Kafka's checkpoint files hold one line for every partition of a data directory and are replaced whole,
with an fsync; too dear for every roll and every deletion of records. In between, each change is one
slot of a `FixedRecordLog`. A slot need not be synced: it is written after what it speaks of has
reached the disk, so losing it costs work at the next start and never a record.
See docs/adr/0006.
"""

import struct
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import Final

from distributedlog.log.errors import DiskFull
from distributedlog.log.files import Files
from distributedlog.log.fixed_record_log import FixedRecordLog

JOURNAL_NAME: Final = "offsets.journal"
#: After so many changes the checkpoints are written and the journal begins anew.
ENTRIES_MAX: Final = 4096
_ENTRY: Final = struct.Struct(">16sibq")


class OffsetKind(IntEnum):
    """Which checkpoint a change belongs to."""

    RECOVERY_POINT = 0
    LOG_START_OFFSET = 1
    COMPACTED_TO = 2
    """Below it offsets may be missing; noted before a compaction takes the first one away."""
    FIRST_DIRTY_OFFSET = 3
    """Up to here the log is compacted; noted when it is."""


_KNOWN_KINDS: Final = frozenset(OffsetKind)


class OffsetJournal:
    """Changes by topic id, since a topic's name may be given to another topic later."""

    def __init__(self, files: Files, directory: Path, *, read_only: bool = False) -> None:
        self._log = FixedRecordLog(files, directory / JOURNAL_NAME, _ENTRY.size, read_only=read_only)

    def note(self, topic_id: bytes, partition: int, kind: OffsetKind, offset: int) -> None:
        """Append one change. No room for it is no failure of what it speaks of: the next start works more."""
        with suppress(DiskFull):
            self._log.append(_ENTRY.pack(topic_id, partition, kind, offset))

    def flush(self) -> None:
        """Wait for the disk: for the one change that must be known before what it speaks of."""
        self._log.flush()

    @property
    def is_due_for_checkpoint(self) -> bool:
        return len(self._log) >= ENTRIES_MAX

    def latest(self) -> dict[tuple[bytes, int, OffsetKind], int]:
        """The last change of each kind of each partition."""
        changes: dict[tuple[bytes, int, OffsetKind], int] = {}
        for payload in self._log:
            topic_id, partition, kind, offset = _ENTRY.unpack(payload)
            if kind in _KNOWN_KINDS:
                changes[topic_id, partition, OffsetKind(kind)] = offset
        return changes

    def clear(self) -> None:
        """The checkpoints now hold all of it."""
        self._log.clear()

    def close(self) -> None:
        self._log.close()
