"""The `<offset>.snapshot` files of one log: the state of its producers as of an offset [io]."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import Files, write_fully
from distributedlog.log.producer_entry import ProducerStateEntry
from distributedlog.log.producer_snapshot import SNAPSHOT_SUFFIX, decode_snapshot, encode_snapshot


class SnapshotFiles:
    """Writing, finding and removing snapshots. A snapshot saves work at a restart and is never needed:
    one that is missing or damaged means reading more of the log."""

    __slots__ = ("_directory", "_files")

    def __init__(self, files: Files, directory: Path) -> None:
        self._files = files
        self._directory = directory

    def path(self, offset: int) -> Path:
        return self._directory / f"{offset:020d}{SNAPSHOT_SUFFIX}"

    def offsets(self) -> list[int]:
        """Of all snapshots there are, rising."""
        found = []
        for name in os.listdir(self._directory):
            if name.endswith(SNAPSHOT_SUFFIX):
                stem = name.removesuffix(SNAPSHOT_SUFFIX)
                if stem.isdigit():
                    found.append(int(stem))
        return sorted(found)

    def write(self, offset: int, entries: Iterable[ProducerStateEntry]) -> bool:
        """Whether it could be written: no room for a snapshot is no reason to refuse an append."""
        temporary = Path(f"{self.path(offset)}.tmp")
        try:
            fd = self._files.open(temporary, create=True)
            try:
                self._files.truncate(fd, 0)
                write_fully(self._files, fd, encode_snapshot(entries), 0)
            finally:
                self._files.close(fd)
            self._files.rename(temporary, self.path(offset))
        except OSError:
            return False
        return True

    def sync(self, offset: int) -> None:
        """Push one to the disk, for a clean close."""
        with suppress(FileNotFoundError):  # none was due, or retention took it beside the flush
            fd = self._files.open(self.path(offset))
            try:
                self._files.fsync(fd)
            finally:
                self._files.close(fd)

    def latest(self, offset_max: int) -> tuple[int, list[ProducerStateEntry]] | None:
        """The youngest sound snapshot at or before an offset; damaged ones are removed."""
        for offset in reversed(self.offsets()):
            if offset > offset_max:
                continue
            path = self.path(offset)
            try:
                return offset, decode_snapshot(str(path), self._files.read_bytes(path))
            except CorruptLog:
                self._files.unlink(path)
        return None

    def delete_before(self, offset: int) -> None:
        for found in self.offsets():
            if found < offset:
                self._files.unlink(self.path(found))

    def delete_from(self, offset: int) -> None:
        for found in self.offsets():
            if found >= offset:
                self._files.unlink(self.path(found))

    def delete_all(self) -> None:
        self.delete_from(0)
