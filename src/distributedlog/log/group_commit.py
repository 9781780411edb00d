"""Many waiting appends, one fsync.

The first thread that needs the disk becomes the leader and flushes; whoever comes while it waits
is served by the next flush, together. With one thread this is a plain fsync per append, with fifty
it is one fsync for fifty.
"""

import threading
from collections.abc import Callable

from distributedlog.log.errors import LogDirectoryOffline, LogError
from distributedlog.log.flush import FlushJob


class GroupCommit:
    """Waits until an offset is on the disk.

    ``begin`` (under the log's lock) says what is due, ``complete`` (under it again) takes the
    result in, ``fail`` hears of a disk that failed. Such a failure fails everyone who waits, and all
    who come after; any other error only the one who flushed, and the next in line tries again.
    """

    def __init__(
        self,
        begin: Callable[[], FlushJob | None],
        complete: Callable[[FlushJob], None],
        fail: Callable[[LogDirectoryOffline], None],
        flushed_to: int,
    ) -> None:
        self._begin = begin
        self._complete = complete
        self._fail = fail
        self._condition = threading.Condition()
        self._flushed_to = flushed_to
        self._flushing = False
        self._failure: LogError | None = None

    @property
    def flushed_to(self) -> int:
        """Everything below this offset is on the disk."""
        return self._flushed_to

    def wait_for(self, offset: int) -> None:
        """Return once everything below ``offset`` is on the disk; flush if nobody else does."""
        while True:
            with self._condition:
                while self._flushing and self._flushed_to < offset and self._failure is None:
                    self._condition.wait()
                if self._flushed_to >= offset:
                    return
                if self._failure is not None:
                    raise self._failure
                self._flushing = True
            self._flush(offset)

    def stop(self, reason: LogError) -> None:
        """Begin no more flushes; return when the running one, if any, has come to its end."""
        with self._condition:
            while self._flushing:
                self._condition.wait()
            self._failure = self._failure or reason

    def _flush(self, offset: int) -> None:
        flushed_to = self._flushed_to
        try:
            job = self._begin()
            if job is None:
                # Nothing is due: all that was appended, and so this offset, is on the disk.
                flushed_to = offset
            else:
                job.run()
                self._complete(job)
                flushed_to = job.offset
        except LogDirectoryOffline as error:
            self._failure = error
            self._fail(error)
            raise
        finally:
            with self._condition:
                self._flushing = False
                self._flushed_to = max(self._flushed_to, flushed_to)
                self._condition.notify_all()
