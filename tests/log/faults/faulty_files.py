"""File systems that fail: full from some operation on, of limited size, or with a disk that gives errors."""

import errno
import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from distributedlog.log import Files


def no_space():
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullDisk(Files):
    """Every operation that needs room counts; from number ``full_from`` on there is none, until `heal`.

    The write that meets the limit is a short one, as on a real disk: half of it goes through.
    """

    def __init__(self, full_from=None):
        self.full_from = full_from
        self.count = 0
        self.met = ""

    def heal(self):
        self.full_from = None

    def _takes_room(self, what):
        self.count += 1
        if self.full_from is not None and self.count > self.full_from:
            self.met = self.met or what
            return False
        return True

    def pwrite(self, fd, data, position):
        if not self._takes_room("write"):
            if self.count == self.full_from + 1 and len(data) > 1:
                return os.pwrite(fd, data[: len(data) // 2], position)
            raise no_space()
        return os.pwrite(fd, data, position)

    def open(self, path, create=False):
        if create and not os.path.exists(path) and not self._takes_room("create"):
            raise no_space()
        return super().open(path, create)

    def fsync(self, fd):
        """Not what is tested here, and dear."""

    def fsync_directory(self, path):
        """As `fsync`."""


class LimitedFiles(Files):
    """No more than so many bytes in all files below ``root``: a small disk for where none can be mounted."""

    def __init__(self, root, capacity):
        self.root = Path(root)
        self.capacity = capacity

    def pwrite(self, fd, data, position):
        growth = position + len(data) - os.fstat(fd).st_size
        used = sum(path.stat().st_size for path in self.root.rglob("*") if path.is_file())
        room = len(data) if growth <= 0 else len(data) - max(growth - (self.capacity - used), 0)
        if room <= 0:
            raise no_space()
        return os.pwrite(fd, data[:room], position)


class FailingSync(Files):
    """The next ``failures`` calls of fsync give EIO; afterwards it claims that all is well, as Linux does."""

    def __init__(self):
        self.failures = 0
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def fsync(self, fd):
        self.entered.set()
        self.go_on.wait(60)
        self._fail()

    def fsync_directory(self, path):
        self._fail()

    def _fail(self):
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))


@contextmanager
def small_tmpfs(size):
    """A real file system of so many bytes; OSError where the system does not let us mount one."""
    directory = Path(tempfile.mkdtemp(prefix="dlog-small-"))
    try:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", directory]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise OSError("there is no mount command") from error
        if done.returncode:
            raise OSError(done.stderr)
        try:
            yield directory
        finally:
            subprocess.run(["umount", "-l", directory], check=True)
    finally:
        shutil.rmtree(directory)


def can_mount():
    try:
        with small_tmpfs(65536):
            return True
    except OSError:
        return False
