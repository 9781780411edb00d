"""What the files of a segment are called, and how they leave the log [io]."""

from pathlib import Path
from typing import Final

from distributedlog.log.files import Files

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TRANSACTION_INDEX_SUFFIX: Final = ".txnindex"
DELETED_SUFFIX: Final = ".deleted"
INDEX_SUFFIXES: Final = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


def segment_path(directory: Path, base_offset: int, suffix: str) -> Path:
    """Where a file of a segment lives: the base offset in twenty digits, and what kind it is."""
    return directory / f"{base_offset:020d}{suffix}"


def rename_to_deleted(files: Files, directory: Path, base_offset: int) -> list[Path]:
    """Take a segment's files out of the log; who still reads them goes on reading. Returns what may be
    removed after a delay."""
    renamed = []
    for suffix in (LOG_SUFFIX, *INDEX_SUFFIXES):
        path = segment_path(directory, base_offset, suffix)
        if path.exists():
            target = Path(f"{path}{DELETED_SUFFIX}")
            files.rename(path, target)
            renamed.append(target)
    return renamed
