"""[io] What members of all protocols do in the background: try for ever, tell the user what will not pass."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, TypeVar

from distributedlog.client.errors import ClientError, ClusterUnreachable
from distributedlog.client.retry import Backoff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.consumer.news import Newsroom

_logger = logging.getLogger(__name__)
Result = TypeVar("Result")


async def persist(
    client: ClusterClient, newsroom: Newsroom, what: str, attempt: Callable[[], Awaitable[Result]]
) -> Result:
    """The result of the first success. What may pass is waited out; `poll` raises other errors first."""
    settings = client.settings
    backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random)
    while True:
        try:
            return await attempt()
        except ClientError as error:
            if not error.is_retriable and not isinstance(error, ClusterUnreachable):
                await newsroom.hand_over_error(error)
            else:
                _logger.info("%s: %s; trying again", what, error)
            client.forget_places()
        await asyncio.sleep(backoff.next_ms() / 1000)


class PollClock:
    """When `poll` was last called, so that a member whose program hangs does not hold partitions for ever."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.is_polling = False
        self.last_seconds = clock()

    def overdue_seconds(self) -> float:
        """How long ago the last call ended; nothing while one runs."""
        return 0.0 if self.is_polling else self._clock() - self.last_seconds

    def begin(self) -> None:
        self.is_polling = True

    def end(self) -> None:
        self.last_seconds = self._clock()
        self.is_polling = False
