"""Running a command's work against a cluster, and turning what goes wrong into one sentence."""

import argparse
import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Final

from distributedlog.cli.terminal import shown
from distributedlog.client import (
    BrokerError,
    ClientError,
    ClientSettings,
    ClusterClient,
    ClusterUnreachable,
    InvalidBootstrap,
)
from distributedlog.wire import ErrorCode

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_TERMINATED: Final = 128 + signal.SIGTERM

Work = Callable[[ClusterClient], Awaitable[int]]

HINTS: Final[dict[int, str]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "`dlog topic list` shows the topics that there are",
    ErrorCode.BROKER_NOT_AVAILABLE: "`dlog cluster info` shows the brokers that there are",
    ErrorCode.TOPIC_ALREADY_EXISTS: "--if-not-exists leaves it as it is",
    ErrorCode.INVALID_REPLICATION_FACTOR: "`dlog cluster info` shows how many brokers there are",
    ErrorCode.GROUP_ID_NOT_FOUND: "`dlog group list` shows the groups that there are",
    ErrorCode.NON_EMPTY_GROUP: "stop its consumers first; `dlog group describe` shows them",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "`dlog txn list` shows those that there are",
    ErrorCode.INVALID_CONFIG: "`dlog config describe --all` shows the names and values that there are",
    ErrorCode.MESSAGE_TOO_LARGE: "`dlog topic alter TOPIC --set max.message.bytes=…` raises the limit",
    ErrorCode.OFFSET_OUT_OF_RANGE: "`dlog topic describe` shows the offsets that there are",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask whoever administers the cluster for access",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "ask whoever administers the cluster for access",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ask whoever administers the cluster for access",
}


class CommandFailed(Exception):
    """The work cannot be done; the text says why, in one sentence."""


class UsageError(CommandFailed):
    """The command line asks for something that makes no sense, as only the work could find out."""


def run_work(arguments: argparse.Namespace, work: Work) -> int:
    """Connect, do the work, disconnect. SIGTERM ends it as cleanly as Ctrl-C does."""
    try:
        return asyncio.run(_with_client(arguments, work))
    except (InvalidBootstrap, UsageError) as error:
        complain(str(error))
        return EXIT_USAGE
    except (ClientError, CommandFailed) as error:
        complain(explained(error))
        return EXIT_FAILED
    except Terminated:
        return EXIT_TERMINATED


class Terminated(BaseException):
    """SIGTERM came, and what was open has been closed."""


async def _with_client(arguments: argparse.Namespace, work: Work) -> int:
    timeout_ms = round(arguments.timeout * 1000)
    settings = ClientSettings(
        socket_connection_setup_timeout_ms=min(timeout_ms, 10_000),
        request_timeout_ms=timeout_ms,
        default_api_timeout_ms=timeout_ms,
    )
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    terminated = False

    def terminate() -> None:
        nonlocal terminated
        terminated = True
        if task is not None:
            task.cancel()

    takes_signals = threading.current_thread() is threading.main_thread()
    if takes_signals:
        loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        async with ClusterClient(arguments.bootstrap, settings) as client:
            return await work(client)
    except asyncio.CancelledError:
        if terminated:
            raise Terminated from None
        raise
    finally:
        if takes_signals:
            loop.remove_signal_handler(signal.SIGTERM)


def explained(error: Exception) -> str:
    """The error's sentence, with what to do about it where that is known."""
    text = str(error)
    if isinstance(error, ClusterUnreachable):
        return f"{text}. Start a broker with `dlog start`, or name another with --bootstrap HOST:PORT"
    hint = HINTS.get(error.code) if isinstance(error, BrokerError) else None
    return text if hint is None else f"{text}; {hint}"


def complain(text: str) -> None:
    """One line on standard error, whatever a broker may have put into its message."""
    print(f"dlog: {shown(' '.join(text.split()))}", file=sys.stderr)


async def each(names: list[str], work: Callable[[str], Awaitable[None]]) -> int:
    """Do it for each name, whatever becomes of the others; 1 when any of them failed."""
    code = 0
    for name in names:
        try:
            await work(name)
        except (BrokerError, CommandFailed) as error:
            complain(explained(error))
            code = EXIT_FAILED
    return code
