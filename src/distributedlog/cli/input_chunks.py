"""Files and standard input, read in a thread, so that what waits for input holds up nothing else."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Final

from distributedlog.cli.cluster_work import CommandFailed

CHUNK_SIZE: Final = 256 * 1024
CHUNKS_AHEAD_MAX: Final = 4
STANDARD_INPUT: Final = "-"
_END: Final = -1


class _NobodyReads(Exception):
    """The iteration is over, or the loop that it ran in: the thread has nothing left to do."""


class InputChunks:
    """Iterates over (the file's number, bytes); each file ends with an empty chunk.

    The thread is a daemon: when it hangs in a read of the terminal nobody waits for it. That is why it
    reads from descriptors and not through Python's file objects, whose locks it would take with it.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.size = _total_size(self.names)
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[tuple[int, bytes | Exception]] = asyncio.Queue()
        self._room = threading.Semaphore(CHUNKS_AHEAD_MAX)
        self._is_over = False
        threading.Thread(target=self._read_all, name="input", daemon=True).start()

    def give_up(self, error: Exception) -> None:
        """Nobody needs the rest: the iteration ends with this error."""
        self._chunks.put_nowait((_END, error))

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        """A file that cannot be read is CommandFailed."""
        try:
            while True:
                number, chunk = await self._chunks.get()
                self._room.release()
                if isinstance(chunk, OSError):
                    name = "standard input" if chunk.filename in {None, STANDARD_INPUT} else chunk.filename
                    raise CommandFailed(f"{name} cannot be read: {chunk.strerror}")
                if isinstance(chunk, Exception):
                    raise chunk
                if number == _END:
                    return
                yield number, chunk
        finally:
            self._is_over = True
            self._room.release()  # the thread may wait for room, and with an open file

    def _read_all(self) -> None:
        try:
            for number, name in enumerate(self.names):
                self._read_file(number, name)
            self._put(_END, b"")
        except _NobodyReads:
            return
        except OSError as error:
            with contextlib.suppress(_NobodyReads):
                self._put(_END, error)

    def _read_file(self, number: int, name: str) -> None:
        is_ours = name != STANDARD_INPUT
        descriptor = os.open(name, os.O_RDONLY) if is_ours else sys.stdin.fileno()
        try:
            while chunk := os.read(descriptor, CHUNK_SIZE):
                self._put(number, chunk)
        except OSError as error:
            error.filename = name
            raise
        finally:
            if is_ours:
                os.close(descriptor)
        self._put(number, b"")

    def _put(self, number: int, chunk: bytes | OSError) -> None:
        self._room.acquire()
        if self._is_over:
            raise _NobodyReads
        try:
            self._loop.call_soon_threadsafe(self._chunks.put_nowait, (number, chunk))
        except RuntimeError:  # the loop was closed meanwhile
            raise _NobodyReads from None


def _total_size(names: Sequence[str]) -> int | None:
    """All bytes to come, where regular files tell."""
    total = 0
    for name in names:
        if not os.path.isfile(name):
            return None
        total += os.path.getsize(name)
    return total
