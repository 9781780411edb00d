"""A file system that remembers what was done to it, so that a loss of power can be staged afterwards.

`RecordingFiles` does everything for real below one root and journals each operation. `crash_state`
then builds what a disk may hold when the power fails at any point of the journal:

* A file's bytes: what was written before an fsync of the file began, and that fsync returned, is there.
  Everything younger lies in the page cache, and of a cache each sector reaches the disk by itself, at any
  time or never: so every sector holds its content as of some moment since the fsync, and the size is that
  of some moment too. That covers writes that are kept, dropped, torn and reordered. A sector inside the
  size whose content never came holds zeros, or now and then anything.
* Names: creations, renames and removals are kept once the directory was synced after them. Until then
  they are lost from some point on (as a file system with a journal does it) or each for itself.

The calls to fsync only take notes: nothing waits for the machine's real disk.
"""

import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributedlog.log.files import Files

SECTORS = (512, 4096)


@dataclass(slots=True)
class Operation:
    """One thing done: ``kind``, the file (by number) or path it was done to, and what else it takes."""

    kind: str
    target: Any
    other: Any = None
    data: bytes = b""


@dataclass(slots=True)
class FileOnDisk:
    """One file while the journal is gone through: what is surely on the disk, and what may be."""

    data: bytes = b""
    pending: list[tuple[int, Operation]] = field(default_factory=list)


class RecordingFiles(Files):
    """Real files below ``root``, with a journal. What is there at the beginning counts as synced."""

    def __init__(self, root):
        self.root = Path(root)
        self.journal = []
        self.initial_files = {}
        self.initial_directories = set()
        self._lock = threading.Lock()
        self._by_path = {}
        self._by_fd = {}
        self._count = 0
        for directory, _, names in os.walk(self.root):
            self.initial_directories.add(str(directory))
            for name in names:
                path = os.path.join(directory, name)
                self._by_path[path] = self._count
                self.initial_files[path] = (self._count, Path(path).read_bytes())
                self._count += 1

    def mark(self, kind, value=None):
        """Note something about the work, such as an acknowledgement, between the operations."""
        with self._lock:
            self.journal.append(Operation("mark", kind, value))

    # -- the operations of `Files` -----------------------------------------------------------------

    def pwrite(self, fd, data, position):
        with self._lock:
            written = os.pwrite(fd, data, position)
            self.journal.append(Operation("write", self._by_fd[fd], position, bytes(data[:written])))
        return written

    def open(self, path, create=False):
        path = str(path)
        with self._lock:
            fd = super().open(path, create)
            if path not in self._by_path:
                self._by_path[path] = self._count
                self.journal.append(Operation("create", path, self._count))
                self._count += 1
            self._by_fd[fd] = self._by_path[path]
        return fd

    def close(self, fd):
        with self._lock:
            self._by_fd.pop(fd, None)  # what was opened for reading is not known here
            os.close(fd)

    def truncate(self, fd, size):
        with self._lock:
            super().truncate(fd, size)
            self.journal.append(Operation("truncate", self._by_fd[fd], size))

    def fsync(self, fd):
        with self._syncing("fsync", self._by_fd[fd]):
            pass

    def fsync_directory(self, path):
        with self._syncing("fsync_directory", str(path)):
            pass

    @contextmanager
    def _syncing(self, kind, target):
        begun = len(self.journal)
        yield
        with self._lock:
            self.journal.append(Operation(kind, target, begun))

    def rename(self, old, new):
        with self._lock:
            super().rename(old, new)
            number = self._by_path.pop(str(old))
            self._by_path[str(new)] = number
            self.journal.append(Operation("rename", str(old), (str(new), number)))

    def unlink(self, path):
        with self._lock:
            super().unlink(path)
            # What did not come through here (the lock file) was never recorded either.
            if self._by_path.pop(str(path), None) is not None:
                self.journal.append(Operation("unlink", str(path)))

    def mkdir(self, path):
        path = Path(path)
        with self._lock:
            missing = [each for each in [path, *path.parents] if not each.exists()]
            super().mkdir(path)
            for each in reversed(missing):
                self.journal.append(Operation("mkdir", str(each)))

    def rmdir(self, path):
        with self._lock:
            super().rmdir(path)
            self.journal.append(Operation("rmdir", str(path)))


def crash_state(recording, end, random, destination):
    """Build under ``destination`` what a disk may hold when power fails after ``end`` operations."""
    files = {number: FileOnDisk(data) for number, data in recording.initial_files.values()}
    names = {path: number for path, (number, _) in recording.initial_files.items()}
    directories = set(recording.initial_directories)
    pending_names = []
    for index, operation in enumerate(recording.journal[:end]):
        if operation.kind in ("write", "truncate"):
            files[operation.target].pending.append((index, operation))
        elif operation.kind == "fsync":
            _settle_file(files[operation.target], operation.other)
        elif operation.kind == "fsync_directory":
            settled = [
                each for at, each in pending_names if at < operation.other and _is_in(each, operation.target)
            ]
            for each in settled:
                _apply_name(each, names, directories)
            pending_names = [pair for pair in pending_names if pair[1] not in settled]
        elif operation.kind != "mark":
            if operation.kind == "create":
                files.setdefault(operation.other, FileOnDisk())
            pending_names.append((index, operation))
    for each in _surviving_names([operation for _, operation in pending_names], random):
        _apply_name(each, names, directories)
    return _build(recording, files, names, directories, random, Path(destination))


def _build(recording, files, names, directories, random, destination):
    manner = random.choice(("dropped", "kept", "moment", "sectors", "sectors", "sectors"))
    destination.mkdir(parents=True)
    for directory in sorted(directories):
        if _is_reachable(directory, directories, recording.root):
            (destination / os.path.relpath(directory, recording.root)).mkdir(parents=True, exist_ok=True)
    for path, number in names.items():
        if _is_reachable(os.path.dirname(path), directories, recording.root):
            content = _content_on_disk(files[number], manner, random)
            (destination / os.path.relpath(path, recording.root)).write_bytes(content)
    return destination


def _is_reachable(directory, directories, root):
    """All directories on the way to it are on the disk."""
    path = Path(directory)
    while path != root:
        if str(path) not in directories:
            return False
        path = path.parent
    return True


def _settle_file(file, begun):
    """An fsync came back: what was written before it began is on the disk."""
    file.data = _content([operation for at, operation in file.pending if at < begun], file.data)
    file.pending = [(at, operation) for at, operation in file.pending if at >= begun]


def _is_in(operation, directory):
    return os.path.dirname(operation.target) == directory


def _apply_name(operation, names, directories):
    """Change the directories by one operation, whatever of those before it has survived."""
    if operation.kind == "create":
        names[operation.target] = operation.other
    elif operation.kind == "rename":
        new, number = operation.other
        if names.get(operation.target) == number:
            del names[operation.target]
        names[new] = number
    elif operation.kind == "unlink":
        names.pop(operation.target, None)
    elif operation.kind == "mkdir":
        directories.add(operation.target)
    elif operation.kind == "rmdir":
        directories.discard(operation.target)


def _surviving_names(operations, random):
    manner = random.choice(("dropped", "kept", "ordered", "ordered", "any"))
    if manner == "kept":
        return operations
    if manner == "any":
        return [operation for operation in operations if random.random() < 0.5]
    return operations[: random.randint(0, len(operations)) if manner == "ordered" else 0]


def _content(operations, data):
    content = bytearray(data)
    for operation in operations:
        if operation.kind == "truncate":
            del content[operation.other :]
            content.extend(bytes(operation.other - len(content)))
        else:
            end = operation.other + len(operation.data)
            content.extend(bytes(max(end - len(content), 0)))
            content[operation.other : end] = operation.data
    return bytes(content)


def _content_on_disk(file, manner, random):
    """One of the contents that the disk may hold of a file."""
    operations = [operation for _, operation in file.pending]
    if manner == "kept":
        return _content(operations, file.data)
    if manner == "dropped" or not operations:
        return file.data
    if manner == "moment":
        return _content(operations[: random.randint(0, len(operations))], file.data)
    versions = [file.data]
    for operation in operations:
        versions.append(_content([operation], versions[-1]))
    size = len(random.choice(versions))
    sector = random.choice(SECTORS)
    content = bytearray()
    for start in range(0, size, sector):
        version = random.choice(versions)[start : start + sector]
        missing = min(sector, size - start) - len(version)
        # Where blocks were given to the file and nothing was written to them yet.
        filling = random.randbytes(max(missing, 0)) if random.random() < 0.05 else bytes(max(missing, 0))
        content += version[: min(sector, size - start)] + filling
    return bytes(content)
