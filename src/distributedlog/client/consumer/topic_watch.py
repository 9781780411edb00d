"""[io] Which topics a subscription means now, and noticing when that changes."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Final

from distributedlog.client.errors import BrokerError, ClientError, ClusterUnreachable, check
from distributedlog.client.retry import Backoff
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable

    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.consumer.settings import ConsumerSettings

_logger = logging.getLogger(__name__)

MISSED_BEFORE_TOLD: Final = 3
"""A topic that the broker is just creating may be missing from its first answers."""

Counts = dict[str, int]


class Subscription:
    """Names, or a pattern that whole names must match."""

    def __init__(self, names: Iterable[str] = (), pattern: re.Pattern[str] | None = None) -> None:
        self.names = frozenset(names)
        self.pattern = pattern

    def __str__(self) -> str:
        return f"topics like {self.pattern.pattern}" if self.pattern else ", ".join(sorted(self.names))


class TopicWatch:
    """Looks every ``metadata_max_age_ms``, and calls `changed` when topics or partitions are not as before.

    A topic that is not there is an error that `missing` hears of once; when it comes, it is read.
    """

    def __init__(
        self,
        client: ClusterClient,
        settings: ConsumerSettings,
        subscription: Subscription,
        changed: Callable[[], object],
        missing: Callable[[ClientError], object],
    ) -> None:
        self.counts: Counts = {}
        """The topics of the subscription that exist, with their numbers of partitions."""
        self._also: frozenset[str] = frozenset()
        self._also_counts: Counts = {}
        self._client = client
        self._settings = settings
        self._subscription = subscription
        self._changed = changed
        self._missing = missing
        self._missed: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def wanted(self) -> frozenset[str]:
        """The names to tell a coordinator: those of topics that are still to come are among them."""
        return self._subscription.names or frozenset(self.counts)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def look(self) -> Counts:
        """The topics as they are now."""
        subscription = self._subscription
        if subscription.pattern is not None:
            await self._client.refresh(None)
            found = {
                name: len(topic.partitions)
                for name, topic in self._client.metadata.topics.items()
                if subscription.pattern.fullmatch(name)
                and not (topic.is_internal and self._settings.exclude_internal_topics)
                and not topic.error_code
            }
        else:
            await self._client.refresh(subscription.names, may_create=self._settings.allow_auto_create_topics)
            found = self._known(subscription.names)
        self.counts = found
        return found

    async def look_also(self, names: frozenset[str]) -> Counts:
        """Topics of other members, whom this one assigns partitions to."""
        await self._client.refresh(names | self._subscription.names)
        self._also = names
        self._also_counts = self._known(names, is_own=False)
        return self._also_counts

    def look_only_for_own(self) -> None:
        """Another member assigns."""
        self._also = frozenset()

    def _known(self, names: Iterable[str], *, is_own: bool = True) -> Counts:
        topics = self._client.metadata.topics
        found: Counts = {}
        for name in names:
            topic = topics.get(name)
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error_code
            if topic is not None and not code:
                found[name] = len(topic.partitions)
                self._missed.pop(name, None)
            elif is_own and code != ErrorCode.LEADER_NOT_AVAILABLE:
                self._missed[name] = self._missed.get(name, 0) + 1
                if self._missed[name] == MISSED_BEFORE_TOLD:
                    self._missing(_not_there(name, code, self._settings.allow_auto_create_topics))
        return found

    async def _run(self) -> None:
        settings = self._client.settings
        backoff: Backoff | None = None
        while True:
            delay = settings.metadata_max_age_ms
            if backoff is not None or self._is_waiting_for_topics:
                backoff = backoff or Backoff(
                    settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random
                )
                delay = min(delay, backoff.next_ms())  # type: ignore[assignment]
            await asyncio.sleep(delay / 1000)
            before, also_before = self.counts, self._also_counts
            try:
                await self.look()
                if self._also:
                    await self.look_also(self._also)
            except ClientError as error:
                if error.is_retriable or isinstance(error, ClusterUnreachable):
                    backoff = backoff or Backoff(
                        settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random
                    )
                else:
                    self._missing(error)
                continue
            if not self._is_waiting_for_topics:
                backoff = None
            if self.counts != before or (self._also and self._also_counts != also_before):
                _logger.info("the topics of the subscription to %s have changed", self._subscription)
                self._changed()

    @property
    def _is_waiting_for_topics(self) -> bool:
        return bool(self._subscription.names - self.counts.keys())


def _not_there(name: str, code: int, may_create: bool) -> ClientError:
    what = f"subscribe to topic {name!r}"
    if code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        try:
            check(code, what)
        except BrokerError as error:
            return error
    creation = "and the broker does not create it by itself" if may_create else "and is not to be created"
    message = f"there is no topic of this name, {creation}: create it, and this consumer will read it"
    return BrokerError(code, what, message, is_retriable=False)
