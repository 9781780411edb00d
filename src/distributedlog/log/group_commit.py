"""Many waiting appends, one fsync.

The first thread that needs the disk becomes the leader and flushes; whoever comes while it waits
is served by the next flush, together. With one thread this is a plain fsync per append, with fifty
it is one fsync for fifty.
"""

import threading
from collections.abc import Callable

from distributedlog.log.flush import FlushJob


class GroupCommit:
    """Waits until an offset is on the disk.

    ``begin`` (under the log's lock) says what is due, ``complete`` (under it again) takes the
    result in. A failed flush fails everyone who waited for it, and all who come after.
    """

    def __init__(
        self, begin: Callable[[], FlushJob | None], complete: Callable[[FlushJob], None], flushed_to: int
    ) -> None:
        self._begin = begin
        self._complete = complete
        self._condition = threading.Condition()
        self._flushed_to = flushed_to
        self._flushing = False
        self._failure: BaseException | None = None

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
                if self._failure is not None:
                    raise self._failure
                if self._flushed_to >= offset:
                    return
                self._flushing = True
            self._flush()

    def _flush(self) -> None:
        flushed_to = self._flushed_to
        failure: BaseException | None = None
        try:
            job = self._begin()
            if job is not None:
                job.run()
                self._complete(job)
                flushed_to = job.offset
        except BaseException as error:
            failure = error
            raise
        finally:
            with self._condition:
                self._flushing = False
                self._flushed_to = max(self._flushed_to, flushed_to)
                self._failure = failure if isinstance(failure, Exception) else None
                self._condition.notify_all()
