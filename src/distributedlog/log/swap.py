"""Putting a compacted segment in the place of the segments it was made from, crash-safe [io].

Compaction leaves a whole and synced set of ``.cleaned`` files, one for each kind, under the base
offset of the oldest segment it read. The swap then

1. writes the intent, a file ``<base offset>.swapping`` that names the segments to go,
2. renames the ``.cleaned`` files over the oldest segment, the log file last,
3. takes the other old segments away,
4. removes the intent.

From the intent on there is only one way, forward: a restart carries it out again from wherever it
stopped. Without an intent ``.cleaned`` files are waste. At no moment is an offset missing from the
directory, so readers in other processes never skip a record; for an instant they may find one in two
files, which does no harm, since they read by offset.
"""

import os
from pathlib import Path
from typing import Final

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import Files
from distributedlog.log.segment_files import (
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    rename_to_deleted,
    segment_path,
)

CLEANED_SUFFIX: Final = ".cleaned"
INTENT_SUFFIX: Final = ".swapping"
#: The log file comes last: while it is missing under its final name, the indexes are only hints.
_KINDS: Final = (*INDEX_SUFFIXES, LOG_SUFFIX)


def swap_in(files: Files, directory: Path, base_offset: int, old_base_offsets: list[int]) -> list[Path]:
    """Swap; returns the files, renamed, that may be removed after a delay."""
    write_intent(files, directory, base_offset, old_base_offsets)
    return carry_out(files, directory, base_offset, old_base_offsets)


def write_intent(files: Files, directory: Path, base_offset: int, old_base_offsets: list[int]) -> None:
    """From here on there is no way back: after an error ask `is_intended` before touching any file."""
    intent = segment_path(directory, base_offset, INTENT_SUFFIX)
    files.write_atomically(intent, "\n".join(map(str, old_base_offsets)).encode())


def is_intended(directory: Path, base_offset: int) -> bool:
    """Whether a restart would carry the swap out."""
    return segment_path(directory, base_offset, INTENT_SUFFIX).exists()


def carry_out(files: Files, directory: Path, base_offset: int, old_base_offsets: list[int]) -> list[Path]:
    """Do what was intended, from wherever it stopped the last time."""
    for suffix in _KINDS:
        final = segment_path(directory, base_offset, suffix)
        cleaned = Path(f"{final}{CLEANED_SUFFIX}")
        if cleaned.exists():
            files.rename(cleaned, final)
    files.fsync_directory(directory)
    gone: list[Path] = []
    for old in old_base_offsets:
        if old != base_offset:
            gone += rename_to_deleted(files, directory, old)
    files.fsync_directory(directory)
    files.unlink(segment_path(directory, base_offset, INTENT_SUFFIX))
    # Were the intent to come back, it would swap in what the next compaction had only begun to write.
    files.fsync_directory(directory)
    return gone


def finish_interrupted_swaps(files: Files, directory: Path) -> int:
    """Carry out what was intended when the last writer died; says how many swaps that was."""
    finished = 0
    for name in sorted(os.listdir(directory)):
        if name.endswith(INTENT_SUFFIX) and name[:20].isdigit():
            old = _read_intent(files, directory / name)
            for path in carry_out(files, directory, int(name[:20]), old):
                files.unlink(path)
            finished += 1
    return finished


def _read_intent(files: Files, path: Path) -> list[int]:
    """An intent is written whole or not at all; on anything else nobody may act."""
    lines = files.read_bytes(path).split()
    if not lines or not all(line.isdigit() for line in lines):
        raise CorruptLog(str(path), 0, "it does not name the segments that a compaction was to replace")
    return [int(line) for line in lines]


def remove_waste(files: Files, directory: Path) -> None:
    """Drop what was to be deleted and what never became whole; call after `finish_interrupted_swaps`."""
    for name in os.listdir(directory):
        if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, ".tmp")):
            files.unlink(directory / name)
