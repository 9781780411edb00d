"""A node in a thread with an event loop of its own, so that the test's thread may block."""

import asyncio
import threading
from concurrent.futures import Future

from distributedlog.server.event_loop import new_event_loop
from distributedlog.server.node import Node, start_node
from distributedlog.server.settings import NodeSettings


class BrokerThread:
    """`start` returns the address once the node serves; what it raises, it raises in the caller's thread."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._started: Future[Node] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_asked: asyncio.Event | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="distributedlog-broker", daemon=True)

    def start(self) -> Node:
        self._thread.start()
        return self._started.result()

    def stop(self) -> None:
        """Returns when the node is closed and the thread gone."""
        if self._loop is not None and self._stop_asked is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop_asked.set)
        self._thread.join()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the thread
            if self._started.done():
                self._failure = error
            else:
                self._started.set_exception(error)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop_asked = asyncio.Event()
        node = await start_node(self._settings)
        self._started.set_result(node)
        try:
            await self._stop_asked.wait()
        finally:
            await node.close()
