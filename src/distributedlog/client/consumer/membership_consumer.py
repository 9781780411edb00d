"""[io] Membership by the newer protocol (KIP-848): the coordinator assigns, and heartbeats carry all there
is to say.

Two tasks. One beats: it says what this member wants and owns, where that has changed, and hears its epoch
and what it shall own. The other one reconciles: it hands over what must be given up, tells the coordinator,
then hands over what is new. A beat that carries news of ours goes out at once.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Final

from distributedlog.client.consumer.background_task import persist
from distributedlog.client.consumer.news import NewsKind
from distributedlog.client.errors import BrokerError, ClientError, check
from distributedlog.client.group_metadata import GroupMetadata
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire import ErrorCode
from distributedlog.wire.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupTopicPartitions,
)

if TYPE_CHECKING:
    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.consumer.background_task import PollClock
    from distributedlog.client.consumer.metrics import ConsumerMetrics
    from distributedlog.client.consumer.news import Newsroom
    from distributedlog.client.consumer.settings import ConsumerSettings
    from distributedlog.client.consumer.topic_watch import TopicWatch
    from distributedlog.wire.k68_consumer_group_heartbeat import (
        ConsumerGroupAssignment,
        ConsumerGroupHeartbeatResponse,
    )

_logger = logging.getLogger(__name__)

_PURPOSE: Final = "membership"
_JOINING: Final = 0
_LEAVING: Final = -1
_LEAVING_FOR_A_WHILE: Final = -2
_LEAVE_SECONDS_MAX: Final = 5.0
_FENCED: Final = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})
Partitions = frozenset[TopicPartition]


class ConsumerMembership:
    """`watch` knows the topics, and calls `topics_changed`; with `regex` the coordinator looks itself."""

    def __init__(
        self,
        client: ClusterClient,
        settings: ConsumerSettings,
        newsroom: Newsroom,
        poll_clock: PollClock,
        metrics: ConsumerMetrics,
        watch: TopicWatch,
        regex: str | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._newsroom = newsroom
        self._poll_clock = poll_clock
        self._metrics = metrics
        self._watch = watch
        self._regex = regex
        self._group_id = settings.group_id or ""
        self._member_id = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        self._epoch = _JOINING
        self._known_as = GroupMetadata(self._group_id)
        self._may_join = asyncio.Event()
        """Not before whoever polls knows that the last membership was lost: it may be about to commit."""
        self._may_join.set()
        self._interval_seconds = settings.heartbeat_interval_ms / 1000
        self._target: Partitions | None = None
        self._owned: Partitions = frozenset()
        self._lost: BrokerError | None = None
        self._says_all = True
        self._beat_now = asyncio.Event()
        self._reconcile = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._beat()), loop.create_task(self._follow())]

    async def close(self, *, is_leaving: bool = True) -> None:
        """A static member says that it will be back, so that its partitions wait for it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._watch.close()
        if is_leaving:
            is_static = self._settings.group_instance_id is not None
            await self._leave(_LEAVING_FOR_A_WHILE if is_static else _LEAVING)

    def group_metadata(self) -> GroupMetadata:
        """Who this was when it was last a member, also when the group has gone on without it since."""
        return self._known_as

    @property
    def _is_lost(self) -> bool:
        return self._lost is not None

    def topics_changed(self) -> None:
        self._says_all = True
        self._beat_now.set()

    # Beating

    async def _beat(self) -> None:
        if self._regex is None:
            await persist(self._client, self._newsroom, "look up topics", self._watch.look)
            self._watch.start()
        while True:
            if self._poll_clock.overdue_seconds() * 1000 > self._settings.max_poll_interval_ms:
                await self._be_away()
            await self._may_join.wait()
            self._beat_now.clear()
            await persist(self._client, self._newsroom, f"stay in group {self._group_id}", self._say)
            try:
                async with asyncio.timeout(self._interval_seconds):
                    await self._beat_now.wait()
            except TimeoutError:
                pass

    def _be_lost(self, error: BrokerError) -> None:
        self._lost = error
        self._epoch, self._says_all, self._target = _JOINING, True, None
        self._may_join.clear()
        self._newsroom.lose()
        self._reconcile.set()

    async def _say(self) -> None:
        request = self._words()
        try:
            response: ConsumerGroupHeartbeatResponse = await self._client.ask_coordinator(
                self._group_id, request, purpose=_PURPOSE
            )
        except ClientError:
            self._says_all = True  # whether the coordinator has heard it is not known
            raise
        code = response.error_code
        if code in _FENCED:
            self._be_lost(BrokerError(code, f"stay in group {self._group_id}", response.error_message))
            return
        if code:
            self._says_all = True
        check(
            code,
            f"{'join' if self._epoch == _JOINING else 'stay in'} group {self._group_id}",
            response.error_message,
        )
        self._says_all = False
        if response.member_id:
            self._member_id = response.member_id
        self._epoch = response.member_epoch
        self._known_as = GroupMetadata(
            self._group_id, self._epoch, self._member_id, self._settings.group_instance_id
        )
        if response.heartbeat_interval_ms > 0:
            self._interval_seconds = response.heartbeat_interval_ms / 1000
        if response.assignment is not None:
            target = await self._named(response.assignment)
            if target != self._target:
                self._target = target
                self._reconcile.set()

    def _words(self) -> ConsumerGroupHeartbeatRequest:
        """All there is to say, when it is the first time or was not understood; else what has changed."""
        request = ConsumerGroupHeartbeatRequest(
            self._group_id, self._member_id, self._epoch, self._settings.group_instance_id
        )
        request.topic_partitions = self._owned_by_id()
        if self._says_all or self._epoch == _JOINING:
            settings = self._settings
            request.rack_id = settings.client_rack or None
            request.rebalance_timeout_ms = settings.max_poll_interval_ms
            request.server_assignor = settings.group_remote_assignor
            if self._regex is not None:
                request.subscribed_topic_regex = self._regex
            else:
                request.subscribed_topic_names = sorted(self._watch.wanted)
            if self._epoch == _JOINING:
                request.topic_partitions = []
        return request

    def _owned_by_id(self) -> list[ConsumerGroupTopicPartitions]:
        topics: dict[bytes, ConsumerGroupTopicPartitions] = {}
        for topic, index in sorted(self._owned):
            known = self._client.metadata.topics.get(topic)
            if known is not None:
                entry = topics.setdefault(known.topic_id, ConsumerGroupTopicPartitions(known.topic_id))
                entry.partitions.append(index)
        return list(topics.values())

    async def _named(self, assignment: ConsumerGroupAssignment) -> Partitions:
        ids = {topic.topic_id for topic in assignment.topic_partitions}
        if any(self._client.metadata.name_of(topic_id) is None for topic_id in ids):
            await self._client.refresh(None)
        found: set[TopicPartition] = set()
        for topic in assignment.topic_partitions:
            name = self._client.metadata.name_of(topic.topic_id)
            if name is not None:
                found.update(TopicPartition(name, index) for index in topic.partitions)
        return frozenset(found)

    # Reconciling

    async def _follow(self) -> None:
        while True:
            await self._reconcile.wait()
            self._reconcile.clear()
            if self._lost is not None:
                error, self._lost = self._lost, None
                _logger.warning("lost membership of group %s: %s", self._group_id, error)
                partitions, self._owned = self._owned, frozenset()
                if partitions:
                    await self._newsroom.hand_over(NewsKind.LOST, partitions)
                self._may_join.set()
                continue
            target = self._target
            if target is None:
                continue
            self._metrics.rebalances += 1
            if taken := self._owned - target:
                await self._newsroom.hand_over(NewsKind.REVOKED, taken)
                self._owned -= taken
                if self._is_lost:
                    continue
                self._beat_now.set()
            if self._target != target:
                self._reconcile.set()
                continue
            new = target - self._owned
            self._owned = target
            await self._newsroom.hand_over(NewsKind.ASSIGNED, new)
            self._beat_now.set()

    # Leaving

    async def _be_away(self) -> None:
        """The program has not polled for too long: others shall have the partitions until it does."""
        why = (
            f"poll was not called for max_poll_interval_ms={self._settings.max_poll_interval_ms}: poll more "
            "often, raise max_poll_interval_ms, or lower max_poll_records"
        )
        is_static = self._settings.group_instance_id is not None
        await self._leave(_LEAVING_FOR_A_WHILE if is_static else _LEAVING)
        self._be_lost(BrokerError(ErrorCode.UNKNOWN_MEMBER_ID, f"stay in group {self._group_id}", why))
        # `poll` runs in another thread, and shall have nothing to do for this.
        while self._poll_clock.overdue_seconds() * 1000 > self._settings.max_poll_interval_ms:  # noqa: ASYNC110
            await asyncio.sleep(min(0.1, self._settings.max_poll_interval_ms / 4000))

    async def _leave(self, epoch: int) -> None:
        if self._epoch == _JOINING:
            return
        request = ConsumerGroupHeartbeatRequest(
            self._group_id, self._member_id, epoch, self._settings.group_instance_id
        )
        try:
            async with asyncio.timeout(_LEAVE_SECONDS_MAX):
                await self._client.ask_coordinator(self._group_id, request, purpose=_PURPOSE)
        except (ClientError, TimeoutError) as error:
            _logger.info("could not leave group %s: %s", self._group_id, error)
