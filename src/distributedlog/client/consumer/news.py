"""What happens in the background and concerns whoever polls: handed over, and waited for.

A rebalance listener runs where `poll` is called, and may commit there; records that are being worked on must
be done before their partition goes to somebody else. So the core takes no such step by itself: it waits
until the next call of `poll` has taken it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from distributedlog.client.errors import ClientError
    from distributedlog.client.metadata import TopicPartition


class NewsKind(Enum):
    ASSIGNED = auto()
    REVOKED = auto()
    """Still this member's: its offsets can be committed."""
    LOST = auto()
    """Somebody else's already, perhaps."""
    FAILED = auto()


@dataclass(slots=True, eq=False)
class News:
    kind: NewsKind
    partitions: tuple[TopicPartition, ...]
    error: ClientError | None
    taken: asyncio.Future[None]

    @property
    def is_void(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.taken.cancelled()


class Newsroom:
    """`ring` wakes whoever polls. `finish` may be called in any thread, all else on the loop."""

    def __init__(self, ring: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ring = ring
        self._waiting: deque[News] = deque()

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    async def hand_over(self, kind: NewsKind, partitions: Iterable[TopicPartition]) -> None:
        """Returns when a call of `poll` has dealt with it."""
        await self._wait_for(News(kind, tuple(sorted(partitions)), None, self._loop.create_future()))

    async def hand_over_error(self, error: ClientError) -> None:
        """Returns when a call of `poll` has raised it: so that the same is not tried again unseen."""
        await self._wait_for(News(NewsKind.FAILED, (), error, self._loop.create_future()))

    def lose(self) -> None:
        """What was to be given up is lost meanwhile."""
        for news in self._waiting:
            if news.kind is NewsKind.REVOKED:
                news.kind = NewsKind.LOST

    def next(self) -> News | None:
        while self._waiting:
            news = self._waiting.popleft()
            if not news.is_void:
                return news
        return None

    def finish(self, news: News) -> None:
        self._loop.call_soon_threadsafe(_finish, news.taken)

    async def _wait_for(self, news: News) -> None:
        self._waiting.append(news)
        self._ring()
        await news.taken


def _finish(taken: asyncio.Future[None]) -> None:
    if not taken.done():
        taken.set_result(None)
