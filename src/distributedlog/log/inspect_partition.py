"""One partition directory: its segments in order, and the state that is kept beside them."""

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from distributedlog.log.inspect_events import (
    Event,
    FileKind,
    FileSeen,
    Finding,
    FindingKind,
    LeaderEpochEntry,
    PartitionSummary,
    Severity,
)
from distributedlog.log.inspect_segment import PartitionState, SegmentInspector
from distributedlog.log.inspect_snapshot import read_producer_snapshot
from distributedlog.log.inspect_text import read_leader_epochs, read_partition_metadata

INT64_MAX: Final = 2**63 - 1
SEGMENT_NAME: Final = re.compile(r"([0-9]{20})\.(log|index|timeindex|txnindex|snapshot)")
LEFTOVER_NAME: Final = re.compile(r".+\.(deleted|cleaned|swap|tmp)")
KINDS: Final = {
    "log": FileKind.LOG,
    "index": FileKind.OFFSET_INDEX,
    "timeindex": FileKind.TIME_INDEX,
    "txnindex": FileKind.TRANSACTION_INDEX,
    "snapshot": FileKind.PRODUCER_SNAPSHOT,
}
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
DIRECTORY_PROPERTIES: Final = "meta.properties"
OFFSET_JOURNAL: Final = "offsets.journal"


def file_kind(name: str) -> FileKind:
    """What a file is, judged by its name."""
    if match := SEGMENT_NAME.fullmatch(name):
        return KINDS[match[2]]
    if name == LEADER_EPOCHS:
        return FileKind.LEADER_EPOCHS
    if name == PARTITION_METADATA:
        return FileKind.PARTITION_METADATA
    if name == DIRECTORY_PROPERTIES:
        return FileKind.DIRECTORY_PROPERTIES
    if name == OFFSET_JOURNAL:
        return FileKind.OFFSET_JOURNAL
    if name.endswith("-offset-checkpoint"):
        return FileKind.OFFSET_CHECKPOINT
    return FileKind.LEFTOVER if LEFTOVER_NAME.fullmatch(name) else FileKind.OTHER


def file_offset(name: str) -> int:
    """The offset in the name of a segment's file or of a snapshot."""
    return int(name.partition(".")[0])


class PartitionInspector:
    """Yields everything in the directory once, segment after segment, and a summary at the end.

    ``is_compacted``: it is known from elsewhere that compaction has been here, so that offsets may be
    missing between segments.
    """

    def __init__(self, directory: Path, with_records: bool = False, is_compacted: bool = False) -> None:
        self._directory = directory
        self._with_records = with_records
        self._state = PartitionState(is_compacted=is_compacted)
        self._gaps: list[Finding] = []

    def events(self) -> Iterator[Event]:
        """Never raises: what cannot be read is a finding."""
        try:
            names = sorted(entry.name for entry in os.scandir(self._directory) if entry.is_file())
        except OSError as error:
            yield _unreadable(self._directory, error)
            return
        by_kind: dict[FileKind, list[str]] = {kind: [] for kind in FileKind}
        for name in names:
            by_kind[file_kind(name)].append(name)
        if by_kind[FileKind.PARTITION_METADATA]:
            yield from self._guarded(PARTITION_METADATA, read_partition_metadata)
        if by_kind[FileKind.LEADER_EPOCHS]:
            for event in self._guarded(LEADER_EPOCHS, read_leader_epochs):
                yield event
                self._learn_epoch(event)
        for name in by_kind[FileKind.LOG]:
            yield from self._segment(name)
        yield from self._gaps if not self._state.is_compacted else _as_notes(self._gaps)
        yield from self._orphans(by_kind)
        for name in by_kind[FileKind.PRODUCER_SNAPSHOT]:
            offset = file_offset(name)
            yield from self._guarded(name, partial(read_producer_snapshot, snapshot_offset=offset))
            if offset > self._state.next_offset:
                yield self._out_of_range(name, f"the snapshot is of offset {offset}")
        for epoch in self._state.leader_epochs:
            if epoch.start_offset > self._state.next_offset:
                yield self._out_of_range(
                    LEADER_EPOCHS, f"epoch {epoch.epoch} begins with offset {epoch.start_offset}"
                )
        for name in by_kind[FileKind.LEFTOVER]:
            yield Finding(
                self._directory / name,
                None,
                FindingKind.LEFTOVER,
                "left over from a deletion, compaction or write; opening the log settles it",
                Severity.NOTE,
            )
        yield PartitionSummary(
            self._directory,
            len(by_kind[FileKind.LOG]),
            self._state.batches,
            self._state.records,
            self._state.first_offset,
            self._state.next_offset,
            self._state.size,
        )

    def _segment(self, name: str) -> Iterator[Event]:
        path = self._directory / name
        base_offset = file_offset(name)
        state = self._state
        if base_offset > INT64_MAX:
            yield Finding(path, None, FindingKind.BAD_NAME, f"offset {base_offset} does not fit in 63 bits")
            return
        if state.segments and base_offset < state.next_offset:
            yield Finding(
                path,
                None,
                FindingKind.SEGMENT_OVERLAP,
                f"begins with offset {base_offset}; those before it end in {state.next_offset - 1}",
            )
        elif state.segments and base_offset > state.next_offset:
            self._gaps.append(
                Finding(
                    path,
                    None,
                    FindingKind.SEGMENT_GAP,
                    f"offsets {state.next_offset} to {base_offset - 1} are missing before this segment",
                )
            )
        state.segments += 1
        state.next_offset = max(state.next_offset, base_offset)
        inspector = SegmentInspector(path, base_offset, state, self._with_records)
        try:
            yield from self._seen(path, FileKind.LOG)
            yield from inspector.events()
            for suffix, kind in (
                (".index", FileKind.OFFSET_INDEX),
                (".timeindex", FileKind.TIME_INDEX),
                (".txnindex", FileKind.TRANSACTION_INDEX),
            ):
                index = path.with_suffix(suffix)
                if index.exists():
                    yield from self._seen(index, kind)
                    yield from inspector.index_entries(kind)
                elif kind is not FileKind.TRANSACTION_INDEX:
                    yield Finding(
                        index,
                        None,
                        FindingKind.INDEX_MISSING,
                        "missing; opening the log makes it anew",
                        Severity.NOTE,
                    )
        except OSError as error:
            yield _unreadable(Path(error.filename or path), error)

    def _learn_epoch(self, event: Event) -> None:
        epochs = self._state.leader_epochs
        if isinstance(event, LeaderEpochEntry) and (
            not epochs or event.start_offset > epochs[-1].start_offset
        ):
            epochs.append(event)

    def _guarded(self, name: str, read: Callable[[Path], Iterator[Event]]) -> Iterator[Event]:
        path = self._directory / name
        try:
            yield from self._seen(path, file_kind(name))
            yield from read(path)
        except OSError as error:
            yield _unreadable(path, error)

    def _seen(self, path: Path, kind: FileKind) -> Iterator[FileSeen]:
        yield FileSeen(path, kind, path.stat().st_size)

    def _orphans(self, by_kind: dict[FileKind, list[str]]) -> Iterator[Finding]:
        bases = {file_offset(name) for name in by_kind[FileKind.LOG]}
        for kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX):
            for name in by_kind[kind]:
                if file_offset(name) not in bases:
                    yield Finding(
                        self._directory / name,
                        None,
                        FindingKind.ORPHAN,
                        f"there is no {name.partition('.')[0]}.log that it could be the index of",
                    )

    def _out_of_range(self, name: str, what: str) -> Finding:
        return Finding(
            self._directory / name,
            None,
            FindingKind.CHECKPOINT_RANGE,
            f"{what}, but the log ends at offset {self._state.next_offset}",
        )


def _as_notes(findings: list[Finding]) -> Iterator[Finding]:
    for finding in findings:
        finding.severity = Severity.NOTE
        finding.message += " (compaction may have taken them)"
        yield finding


def _unreadable(path: Path, error: OSError) -> Finding:
    return Finding(path, None, FindingKind.UNREADABLE, f"cannot be read: {error.strerror or error}")
