"""[io] The sync face's thread: an event loop in the background, and what must hold when a process forks."""

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final, Protocol, TypeVar

from distributedlog.client.errors import BlockedLoop, ClientClosed, ForkedClient

Result = TypeVar("Result")

_FORKED: Final = (
    "this client was made before a fork and does not work in the child process: "
    "its thread and its connections stayed with the parent. Make clients after the fork"
)


class LoopThread:
    """A daemon thread that runs one event loop until `close`."""

    def __init__(self, name: str) -> None:
        self.loop = _new_event_loop()
        self._is_forked = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        watch_forks(self)

    def run(self, work: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """Run a coroutine on the loop and wait for its result; after `timeout` seconds it is cancelled."""
        try:
            self.check()
            if self.is_here():
                raise BlockedLoop(
                    "a blocking call from a call-back of the client would wait for itself; "
                    "do it in another thread, or use the async client"
                )
            future = asyncio.run_coroutine_threadsafe(work, self.loop)
        except BaseException:
            work.close()
            raise
        try:
            return future.result(timeout)
        except FutureTimeout:
            if future.done():
                raise  # the work's own
            future.cancel()
            raise TimeoutError(f"not done within {timeout:g} s") from None
        except CancelledError:
            raise ClientClosed("the client was closed meanwhile") from None
        except BaseException:
            future.cancel()  # the caller was interrupted: the work must not go on behind its back
            raise

    def is_here(self) -> bool:
        """Whether the caller is the loop's own thread."""
        return threading.get_ident() == self._thread.ident

    @property
    def is_closed(self) -> bool:
        """Whether there is nothing to close any more: in a forked child there never is."""
        return self._is_closed or self._is_forked

    def check(self) -> None:
        if self._is_forked:
            raise ForkedClient(_FORKED)
        if self._is_closed:
            raise ClientClosed("the client is closed")

    def close(self) -> None:
        """Cancel what still runs and end the thread. In a forked child there is nothing to end."""
        if self._is_closed or self._is_forked:
            return
        self._is_closed = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        if not self.is_here():
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(_end_all_tasks())
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()

    def forked(self, _: ForkedClient) -> None:
        """Called in the child of a fork."""
        self._is_forked = True


class Forkable(Protocol):
    """Whoever wants to know that it is in a forked child now, so that no call has to ask."""

    def forked(self, error: ForkedClient) -> None: ...


def watch_forks(client: Forkable) -> None:
    """Call ``client.forked`` in every child that this process forks, as long as the client lives."""
    _living.add(client)


_living: "weakref.WeakSet[Forkable]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    error = ForkedClient(_FORKED)
    for client in list(_living):
        client.forked(error)


os.register_at_fork(after_in_child=_after_fork_in_child)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415  (may be missing, and takes a while to load)
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _end_all_tasks() -> None:
    """Cancel until nothing runs any more: a task that ends may have begun another one."""
    while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
