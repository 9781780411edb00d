"""Look into log directories without changing anything: the engine of `dlog log dump` and `verify`.

It reads the formats by itself, independent of the code that writes them, so that it can disagree with
that code. Nothing that stands in the files makes it raise: everything wrong is a `Finding`.
"""

import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from distributedlog.log.inspect_events import (
    CheckpointEntry,
    Event,
    FileKind,
    FileSeen,
    Finding,
    FindingKind,
    JournalEntry,
    PartitionSummary,
    Severity,
)
from distributedlog.log.inspect_journal import COMPACTION_KINDS, read_offset_journal
from distributedlog.log.inspect_partition import (
    PARTITION_METADATA,
    PartitionInspector,
    file_kind,
    file_offset,
)
from distributedlog.log.inspect_segment import PartitionState, SegmentInspector
from distributedlog.log.inspect_snapshot import read_producer_snapshot
from distributedlog.log.inspect_text import (
    read_directory_properties,
    read_leader_epochs,
    read_offset_checkpoint,
    read_partition_metadata,
)

PARTITION_NAME: Final = re.compile(r"(.+)-([0-9]{1,10})")
LEAVING_NAME: Final = re.compile(r".+-[0-9]+\.[0-9a-f]{32}-(delete|future|stray)")
CLEANER_CHECKPOINT: Final = "cleaner-offset-checkpoint"
DATA_DIRECTORY_KINDS: Final = (
    FileKind.OFFSET_CHECKPOINT,
    FileKind.OFFSET_JOURNAL,
    FileKind.DIRECTORY_PROPERTIES,
)
INDEX_KINDS: Final = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX)

Checkpoints = dict[tuple[str, int], list[CheckpointEntry]]


class NothingToInspect(Exception):
    """The path is not there, or nothing at it belongs to a log."""


def inspect(path: Path, with_records: bool = False) -> Iterator[Event]:
    """Everything in a data directory, a partition directory or one file, in the order it stands there.

    Raises NothingToInspect before the first event; after that it raises nothing. With ``with_records``
    every record is decoded, checked and yielded.
    """
    try:
        if path.is_file():
            events = _file_events(path, with_records)
        elif path.is_dir():
            events = _directory_events(path, with_records)
        else:
            raise NothingToInspect(f"{path} does not exist")
    except OSError as error:
        raise NothingToInspect(f"{path} cannot be read: {error.strerror or error}") from error
    return events


def _directory_events(directory: Path, with_records: bool) -> Iterator[Event]:
    entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    files = [entry.name for entry in entries if entry.is_file()]
    partitions = [entry.name for entry in entries if entry.is_dir() and PARTITION_NAME.fullmatch(entry.name)]
    leaving = [entry.name for entry in entries if entry.is_dir() and LEAVING_NAME.fullmatch(entry.name)]
    kinds = {file_kind(name) for name in files}
    is_partition = bool(
        kinds & {FileKind.LOG, FileKind.PARTITION_METADATA, FileKind.LEADER_EPOCHS, *INDEX_KINDS}
    )
    is_data_directory = bool(partitions or leaving or kinds & set(DATA_DIRECTORY_KINDS))
    if not (is_partition or is_data_directory):
        raise NothingToInspect(f"{directory} holds no log: no segments, no partitions, no checkpoints")
    return chain(
        _data_directory_events(directory, files, is_partition, partitions, with_records),
        _leaving_events(directory, leaving),
    )


def _data_directory_events(
    directory: Path, files: list[str], is_partition: bool, partitions: list[str], with_records: bool
) -> Iterator[Event]:
    checkpoints: Checkpoints = {}
    compacted_topic_ids: set[str] = set()
    for name in files:
        kind = file_kind(name)
        if kind in DATA_DIRECTORY_KINDS:
            for event in _small_file_events(directory / name, kind):
                yield event
                if isinstance(event, JournalEntry) and event.kind in COMPACTION_KINDS:
                    compacted_topic_ids.add(event.topic_id)
                if isinstance(event, CheckpointEntry):
                    checkpoints.setdefault((event.topic, event.partition), []).append(event)
    if is_partition:
        yield from PartitionInspector(directory, with_records, _is_compacted(directory)).events()
    for name in partitions:
        match = PARTITION_NAME.fullmatch(name)
        assert match is not None
        of_partition = checkpoints.pop((match[1], int(match[2])), [])
        is_compacted = any(entry.path.name == CLEANER_CHECKPOINT for entry in of_partition) or (
            _topic_id_of(directory / name) in compacted_topic_ids
        )
        for event in PartitionInspector(directory / name, with_records, is_compacted).events():
            yield event
            if isinstance(event, PartitionSummary):
                yield from _check_range(of_partition, event)
    for entries in checkpoints.values():
        for entry in entries:
            yield Finding(
                entry.path,
                None,
                FindingKind.CHECKPOINT,
                f"{entry.topic}-{entry.partition} has no directory here",
                Severity.NOTE,
            )


def _leaving_events(directory: Path, names: list[str]) -> Iterator[Event]:
    for name in names:
        yield Finding(
            directory / name, None, FindingKind.LEFTOVER, "a partition on its way out", Severity.NOTE
        )


def _check_range(entries: list[CheckpointEntry], summary: PartitionSummary) -> Iterator[Finding]:
    for entry in entries:
        if entry.offset > summary.log_end_offset:
            yield Finding(
                entry.path,
                None,
                FindingKind.CHECKPOINT_RANGE,
                f"{entry.topic}-{entry.partition} stands at offset {entry.offset}, "
                f"but its log ends at {summary.log_end_offset}",
            )


def _topic_id_of(partition: Path) -> str:
    """As its metadata file says; empty when it says nothing, and then nothing is known of the topic."""
    try:
        text = (partition / PARTITION_METADATA).read_text(errors="replace")
    except OSError:
        return ""
    return next((line[9:].strip() for line in text.splitlines() if line.startswith("topic_id:")), "")


def _is_compacted(partition: Path) -> bool:
    """Whether the data directory around the partition says so."""
    checkpoint = partition.absolute().parent / CLEANER_CHECKPOINT
    if not checkpoint.is_file():
        return False
    return any(
        isinstance(event, CheckpointEntry) and f"{event.topic}-{event.partition}" == partition.absolute().name
        for event in _small_file_events(checkpoint, FileKind.OFFSET_CHECKPOINT)
    )


def _file_events(path: Path, with_records: bool) -> Iterator[Event]:
    """One file alone; an index is compared with the log beside it, whose own findings are left out."""
    kind = file_kind(path.name)
    if kind in (FileKind.OTHER, FileKind.LEFTOVER):
        raise NothingToInspect(f"{path.name} is none of a log's files, by its name")
    if kind is FileKind.LOG or kind in INDEX_KINDS:
        return _segment_file_events(path, kind, with_records)
    return _small_file_events(path, kind)


def _segment_file_events(path: Path, kind: FileKind, with_records: bool) -> Iterator[Event]:
    state = PartitionState(next_offset=file_offset(path.name))
    inspector = SegmentInspector(path.with_suffix(".log"), file_offset(path.name), state, with_records)
    try:
        yield FileSeen(path, kind, path.stat().st_size)
        if kind is not FileKind.LOG:
            yield from inspector.index_entries(kind)
        if path.with_suffix(".log").exists():
            for event in inspector.events():
                is_about_this_file = (
                    event.path == path if isinstance(event, Finding) else kind is FileKind.LOG
                )
                if is_about_this_file:
                    yield event
        else:
            yield Finding(path, None, FindingKind.ORPHAN, f"there is no {path.stem}.log beside it")
    except OSError as error:
        yield Finding(path, None, FindingKind.UNREADABLE, f"cannot be read: {error.strerror or error}")
    if kind is FileKind.LOG:
        yield PartitionSummary(
            path, 1, state.batches, state.records, state.first_offset, state.next_offset, state.size
        )


def _small_file_events(path: Path, kind: FileKind) -> Iterator[Event]:
    try:
        yield FileSeen(path, kind, path.stat().st_size)
        if kind is FileKind.PRODUCER_SNAPSHOT:
            yield from read_producer_snapshot(path, file_offset(path.name))
        elif kind is FileKind.LEADER_EPOCHS:
            yield from read_leader_epochs(path)
        elif kind is FileKind.PARTITION_METADATA:
            yield from read_partition_metadata(path)
        elif kind is FileKind.DIRECTORY_PROPERTIES:
            yield from read_directory_properties(path)
        elif kind is FileKind.OFFSET_JOURNAL:
            yield from read_offset_journal(path)
        else:
            yield from read_offset_checkpoint(path)
    except OSError as error:
        yield Finding(path, None, FindingKind.UNREADABLE, f"cannot be read: {error.strerror or error}")
