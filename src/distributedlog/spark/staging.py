"""[io] Where a task's finished batches wait for the driver: in the task's message, or in a file both can see.

Files lie at ``<directory>/<query>/<run>/<batch>/<attempt>``. What a commit or abort of a batch finds there of
its run, of this batch and those before, is waste of lost attempts, and removed; what dead runs have left goes
after some time, since a run that seems dead may live.
"""

import mmap
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from pyspark.sql.datasource import WriterCommitMessage

from distributedlog.client import TopicPartition
from distributedlog.spark.errors import SparkSourceError
from distributedlog.spark.output_batches import OutputBatch

#: So much of a task's output goes through Spark in any case: no file is quicker.
MESSAGE_BYTES_MAX: Final = 256 * 1024
#: A run that has staged nothing for so long is dead, or its commits fail and it begins the batch again.
DEAD_AFTER_SECONDS: Final = 3600
_KERNEL_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class StagingFailed(SparkSourceError):
    """What a task has staged is not there, or cannot be written."""


@dataclass(frozen=True, slots=True)
class StagedOutput(WriterCommitMessage):
    """A task's output. ``sizes`` are the bytes of the batches, one behind the other."""

    query: str
    run: str
    places: list[TopicPartition]
    sizes: list[int]
    data: bytearray = field(default_factory=bytearray)
    path: str | None = None

    def batches(self) -> Iterator[OutputBatch]:
        """The batches, in memory that may be changed and nobody else sees."""
        position = 0
        view = memoryview(self.data) if self.path is None else memoryview(self._mapped(self.path))
        for place, size in zip(self.places, self.sizes, strict=True):
            yield OutputBatch(place, view[position : position + size])
            position += size

    def _mapped(self, path: str) -> "mmap.mmap | bytearray":
        length = sum(self.sizes)
        try:
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_size != length:
                    raise StagingFailed(
                        f"{path} does not have the {length} bytes that a task has written there"
                    )
                return mmap.mmap(file.fileno(), length, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise StagingFailed(
                f"the driver cannot read what a task has staged at {path} ({error.strerror}): the staging "
                "directory must be one that all machines of the cluster share"
            ) from None


@dataclass(frozen=True, slots=True)
class StagingPlace:
    """A directory of the driver's; ``kernel`` and ``inode`` say how a task knows that it sees it."""

    directory: str
    kernel: str | None
    inode: tuple[int, int] | None

    @classmethod
    def of_driver(cls, named: str | None) -> "StagingPlace":
        """The directory that the user has named, else one for temporary files. Called on the driver."""
        if named is not None:
            return cls(named, None, None)
        directory = Path(tempfile.gettempdir()) / f"distributedlog-spark-{os.getuid()}"
        try:
            directory.mkdir(mode=0o700, exist_ok=True)
            kernel = _KERNEL_ID.read_text().strip()
        except OSError:
            return cls(str(directory), None, (-1, -1))  # nobody will see this
        return cls(str(directory), kernel, _inode(directory))

    def is_here(self) -> bool:
        """Whether a file that this process puts there is seen by the driver."""
        if self.inode is None:
            return True
        try:
            return self.kernel == _KERNEL_ID.read_text().strip() and self.inode == _inode(
                Path(self.directory)
            )
        except OSError:
            return False

    def remove(self, query: str, run: str, batch_id: int) -> None:
        """Clear away what was staged for this batch and those before; best effort, it is waste."""
        of_query = Path(self.directory) / query
        with suppress(OSError):
            for of_run in list(of_query.iterdir()):
                if of_run.name != run:
                    if time.time() - of_run.stat().st_mtime > DEAD_AFTER_SECONDS:
                        shutil.rmtree(of_run, ignore_errors=True)
                    continue
                for entry in list(of_run.iterdir()):
                    if int(entry.name) <= batch_id:
                        shutil.rmtree(entry, ignore_errors=True)
                with suppress(OSError):
                    of_run.rmdir()  # unless there is more
            of_query.rmdir()


class Stage:
    """A task's output as it grows. After an error `discard`."""

    def __init__(self, place: StagingPlace, query: str, run: str, batch_id: int) -> None:
        self._place = place
        self._query = query
        self._run = run
        self._batch_id = batch_id
        self._places: list[TopicPartition] = []
        self._sizes: list[int] = []
        self._data = bytearray()
        self._file: BinaryIO | None = None
        self._has_asked = False

    def add(self, batches: Iterable[OutputBatch]) -> None:
        for partition, data in batches:
            self._places.append(partition)
            self._sizes.append(len(data))
            if self._file is not None:
                self._file.write(data)
            else:
                self._data += data
        if self._file is None and len(self._data) > MESSAGE_BYTES_MAX and not self._has_asked:
            self._has_asked = True
            if self._place.is_here():
                self._move_to_file()

    def finish(self) -> StagedOutput:
        if self._file is None:
            return StagedOutput(self._query, self._run, self._places, self._sizes, self._data)
        self._file.close()
        path = self._file.name
        return StagedOutput(self._query, self._run, self._places, self._sizes, path=path)

    def discard(self) -> None:
        if self._file is not None:
            self._file.close()
            with suppress(OSError):
                os.unlink(self._file.name)

    def _move_to_file(self) -> None:
        directory = Path(self._place.directory) / self._query / self._run / str(self._batch_id)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._file = open(directory / uuid.uuid4().hex, "xb", buffering=0)  # noqa: SIM115  (closed by finish)
            self._file.write(self._data)
        except OSError as error:
            raise StagingFailed(f"cannot stage output in {directory}: {error.strerror}") from None
        self._data = bytearray()


def _inode(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
