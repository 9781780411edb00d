"""The operating system as the log sees it [io].

Everything in this room that changes a file goes through a `Files` object. A test can put another
one in its place: one that journals every write, so that a power loss can be staged between any two
of them, or one whose disk is full. ``pwrite`` is the bare function of the operating system, so the
seam costs the append path nothing.
"""

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from distributedlog.log.errors import DirectoryNotWritable

FULL_DISK_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

Buffer = bytes | bytearray | memoryview


class Files:
    """The real file system. Paths in, plain file descriptors out; errors are ``OSError``."""

    pwrite: Callable[[int, Buffer, int], int] = staticmethod(os.pwrite)

    def open(self, path: Path | str, create: bool = False) -> int:
        """Open for reading and writing; with ``create`` the file is made when missing."""
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o644)

    def close(self, fd: int) -> None:
        os.close(fd)

    def read_bytes(self, path: Path | str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        """Data and the metadata needed to read it back (``fdatasync``)."""
        os.fdatasync(fd)

    def rename(self, old: Path | str, new: Path | str) -> None:
        os.replace(old, new)

    def unlink(self, path: Path | str) -> None:
        os.unlink(path)

    def rmdir(self, path: Path | str) -> None:
        os.rmdir(path)

    def mkdir(self, path: Path | str) -> None:
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise DirectoryNotWritable(str(path), error) from error

    def fsync_directory(self, path: Path | str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def write_atomically(self, path: Path | str, data: Buffer) -> None:
        """Replace a small file whole: after a crash there is the old content or the new."""
        temporary = f"{path}.tmp"
        fd = self.open(temporary, create=True)
        try:
            self.truncate(fd, 0)
            write_fully(self, fd, data, 0)
            self.fsync(fd)
        finally:
            self.close(fd)
        self.rename(temporary, path)
        self.fsync_directory(os.path.dirname(path) or ".")

    def unlink_if_there(self, path: Path | str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.unlink(path)


def write_fully(files: Files, fd: int, data: Buffer, position: int) -> None:
    """Write all of ``data``; the operating system may take it in several bites."""
    view = memoryview(data)
    while view:
        written = files.pwrite(fd, view, position)
        position += written
        view = view[written:]


class OpenFile:
    """A file descriptor that closes when its last user lets go of it.

    A region being sent to a slow consumer keeps its file readable after retention has deleted the
    segment or compaction has replaced it: the descriptor lives as long as any reference.
    """

    __slots__ = ("_files", "fd", "path")

    def __init__(self, files: Files, path: Path, create: bool = False) -> None:
        self.fd = -1
        self._files = files
        self.path = path
        self.fd = files.open(path, create)

    @classmethod
    def read_only(cls, files: Files, path: Path) -> "OpenFile":
        """For readers in another process, which may not even have the right to write."""
        self = cls.__new__(cls)
        self.fd = -1
        self._files = files
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return self

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def close(self) -> None:
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            self._files.close(fd)

    def __del__(self) -> None:
        self.close()


class FileRegion:
    """A range of a log file, to be sent as it is or read when someone wants to look into it."""

    __slots__ = ("file", "position", "size")

    def __init__(self, file: OpenFile, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def fileno(self) -> int:
        return self.file.fd

    def read(self) -> bytes:
        return os.pread(self.file.fd, self.size, self.position)

    def read_into(self, buffer: bytearray) -> memoryview:
        """The same in a buffer that is used again, which saves taking megabytes each time; it is as large
        as the region at least. What is returned is valid until the next read into it."""
        view = memoryview(buffer)[: self.size]
        return view[: os.preadv(self.file.fd, [view], self.position)]

    def __repr__(self) -> str:
        return f"FileRegion({self.file.path.name}, {self.position}, {self.size})"


REAL_FILES: Final = Files()
