"""The process of `dlog start`: one node, its console, and the signals that end it."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final, TextIO

from distributedlog.log.errors import LogError
from distributedlog.server import console
from distributedlog.server.event_loop import new_event_loop
from distributedlog.server.files_limit import raise_open_files_limit
from distributedlog.server.node import start_node
from distributedlog.server.settings import NodeSettings, SettingsError
from distributedlog.server.sockets import CannotListen

EXIT_STOPPED: Final = 0
EXIT_FAILED: Final = 1
EXIT_SETTINGS: Final = 2
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

logger = logging.getLogger("distributedlog.server")


class StopSignals:
    """The first signal asks to stop; the second one, and any while the node starts, ends at once.

    What an end at once leaves behind is what a crash leaves: the next start recovers it.
    """

    def __init__(self) -> None:
        self._on_first: Callable[[], object] | None = None
        for number in _SIGNALS:
            signal.signal(number, self._received)

    def call_on_first(self, callback: Callable[[], object]) -> None:
        """The node is ready, and can be stopped in order from now on."""
        self._on_first = callback

    def _received(self, number: int, _frame: Any) -> None:
        callback, self._on_first = self._on_first, None
        if callback is None:
            os._exit(128 + number)
        else:
            callback()


def run_node(settings: NodeSettings, stdout: TextIO | None = None) -> int:
    """Run until a signal comes; returns the exit code."""
    console.set_up(settings.console_format, settings.console_level)
    raise_open_files_limit()
    signals = StopSignals()
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_serve(settings, signals, sys.stdout if stdout is None else stdout))
    except SettingsError as error:
        print(f"dlog start: {error}", file=sys.stderr)
        return EXIT_SETTINGS
    except (CannotListen, LogError) as error:
        print(f"dlog start: {error}", file=sys.stderr)
        return EXIT_FAILED


async def _serve(settings: NodeSettings, signals: StopSignals, stdout: TextIO) -> int:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_bug)
    node = await start_node(settings)
    stopped = asyncio.Event()
    signals.call_on_first(lambda: loop.call_soon_threadsafe(stopped.set))
    print(f"distributedlog is ready on {node.address}", file=stdout, flush=True)
    logger.info(
        "node %d of cluster %s serves %d topics from %s",
        node.broker.node_id,
        node.broker.cluster_id,
        len(node.broker.image.topics_by_name),
        node.broker.directory.path.absolute(),
    )
    if node.metrics_address is not None:
        logger.info("metrics on http://%s/metrics", node.metrics_address)
    await stopped.wait()
    logger.info("stopping")
    await node.close()
    logger.info("stopped")
    return EXIT_STOPPED


def _log_bug(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An exception that no one caught; the broker goes on."""
    logger.error("a bug: %s", context.get("message"), exc_info=context.get("exception"))
