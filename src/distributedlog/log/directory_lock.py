"""One writer for a data directory: Kafka's `.lock` file [io]."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from distributedlog.log.errors import DirectoryLocked, DirectoryNotWritable

LOCK_NAME: Final = ".lock"


class DirectoryLock:
    """Held from construction to `release`; the operating system releases it when the process dies."""

    def __init__(self, directory: Path) -> None:
        path = directory / LOCK_NAME
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise DirectoryNotWritable(str(directory), error) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._fd, 20).decode(errors="replace").strip()
            os.close(self._fd)
            raise DirectoryLocked(str(directory), int(holder) if holder.isdigit() else None) from error
        with suppress(OSError):
            # On a full disk the lock holds all the same; only its holder cannot be named.
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
