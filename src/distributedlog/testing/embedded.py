"""The broker that a test holds in its hand."""

import os
import tempfile
from collections.abc import Mapping
from types import TracebackType
from typing import Final

from distributedlog.server.node import Node, start_node
from distributedlog.server.settings import NodeSettings, settings_of
from distributedlog.testing.broker_thread import BrokerThread

#: What saves a test time. The data is thrown away, so no acknowledgement waits for the disk (`log.flush`),
#: and a group of one or two members need not wait for more before its first rebalance.
TEST_SETTINGS: Final[Mapping[str, str]] = {
    "log.flush": "os",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}
ANY_PORT: Final = "127.0.0.1:0"


class EmbeddedBroker:
    """A single-node broker on a free port, in a temporary directory. Any number may run at once.

    ``with`` runs it in a thread of its own, so that clients may block; ``async with`` runs it in the
    caller's event loop, which then must not be blocked. `config` takes the settings of `dlog start` by
    Kafka's names; it overrides `TEST_SETTINGS`. With a `directory` the data stays there, and the next
    broker on it goes on where this one stopped.
    """

    def __init__(
        self,
        config: Mapping[str, str] | None = None,
        *,
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        self._config = dict(config or {})
        self._directory = None if directory is None else os.fspath(directory)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._listen = ANY_PORT
        self._thread: BrokerThread | None = None
        self._node: Node | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What clients call ``bootstrap.servers``."""
        return self._running_node.address

    @property
    def metrics_address(self) -> str | None:
        """HOST:PORT of metrics and health, when ``metrics.listener`` is set."""
        return self._running_node.metrics_address

    @property
    def directory(self) -> str:
        """Where the data is."""
        return self._running_node.settings.broker.log_dir

    def start(self) -> "EmbeddedBroker":
        """Start in a thread of its own, as ``with`` does. Again after `stop`, with the data of before."""
        self._check_stopped()
        try:
            thread = BrokerThread(self._settings())
            self._node = thread.start()
        except BaseException:
            self._discard()
            raise
        self._thread = thread
        self._listen = self._node.address
        return self

    def stop(self) -> None:
        """Drain, flush and close; the data stays, and so does the port for the next `start`."""
        thread, self._thread, self._node = self._thread, None, None
        if thread is not None:
            thread.stop()

    def close(self) -> None:
        """Stop for good: a temporary directory is removed."""
        try:
            self.stop()
        finally:
            self._discard()

    def restart(self) -> None:
        """A clean stop and a start at the same address: clients see their connections break, then recover."""
        self.stop()
        self.start()

    def __enter__(self) -> "EmbeddedBroker":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> "EmbeddedBroker":
        self._check_stopped()
        try:
            self._node = await start_node(self._settings())
        except BaseException:
            self._discard()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        node, self._node = self._node, None
        try:
            if node is not None:
                await node.close()
        finally:
            self._discard()

    @property
    def _running_node(self) -> Node:
        if self._node is None:
            raise RuntimeError("the embedded broker is not running: use it as a context manager, or start it")
        return self._node

    def _check_stopped(self) -> None:
        if self._node is not None:
            raise RuntimeError("the embedded broker is running already")

    def _settings(self) -> NodeSettings:
        directory = self._directory
        if directory is None:
            if self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="distributedlog-")
            directory = self._temporary.name
        return settings_of({"listen": self._listen, "data": directory, **TEST_SETTINGS, **self._config})

    def _discard(self) -> None:
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            temporary.cleanup()
