"""[io] Membership by the classic protocol: the leader among the members assigns, in rounds of Join and Sync.

One task goes round: (what must be given up is handed over) → JoinGroup → SyncGroup → (what is new is handed
over) → heartbeats, until something changes. Eager members give everything up before each round; cooperative
ones keep reading, give up only what the round takes from them, and then ask for another one (KIP-429).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from distributedlog.client.consumer.assignors import ASSIGNORS
from distributedlog.client.consumer.background_task import persist
from distributedlog.client.consumer.classic_words import (
    assignment_bytes,
    read_assignment,
    subscriber_of,
    subscription_bytes,
)
from distributedlog.client.consumer.news import NewsKind
from distributedlog.client.errors import (
    BrokerError,
    ClientError,
    ClusterUnreachable,
    UnexpectedResponse,
    check,
)
from distributedlog.client.group_metadata import NO_GENERATION, GroupMetadata
from distributedlog.wire import APIS, ErrorCode
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from distributedlog.wire.k12_heartbeat import HeartbeatRequest
from distributedlog.wire.k13_leave_group import LeaveGroupRequest, MemberIdentity
from distributedlog.wire.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from distributedlog.wire.values.consumer_protocol import CONSUMER_PROTOCOL_TYPE

if TYPE_CHECKING:
    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.consumer.background_task import PollClock
    from distributedlog.client.consumer.metrics import ConsumerMetrics
    from distributedlog.client.consumer.news import Newsroom
    from distributedlog.client.consumer.settings import ConsumerSettings
    from distributedlog.client.consumer.topic_watch import TopicWatch
    from distributedlog.client.metadata import TopicPartition
    from distributedlog.wire.k11_join_group import JoinGroupResponse
    from distributedlog.wire.k12_heartbeat import HeartbeatResponse
    from distributedlog.wire.k14_sync_group import SyncGroupResponse

_logger = logging.getLogger(__name__)

_PURPOSE: Final = "membership"
_JOIN_GRACE_MS: Final = 5_000
_LEAVE_GROUP: Final = 13
_LEAVE_MANY_FROM: Final = 3
_LEAVE_SECONDS_MAX: Final = 5.0
_NOT_A_MEMBER: Final = frozenset(
    {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID}
)
Partitions = frozenset["TopicPartition"]


class ClassicMembership:
    """`watch` knows the topics; it calls `topics_changed`."""

    def __init__(
        self,
        client: ClusterClient,
        settings: ConsumerSettings,
        newsroom: Newsroom,
        poll_clock: PollClock,
        metrics: ConsumerMetrics,
        watch: TopicWatch,
    ) -> None:
        self._client = client
        self._settings = settings
        self._newsroom = newsroom
        self._poll_clock = poll_clock
        self._metrics = metrics
        self._watch = watch
        self._group_id = settings.group_id or ""
        self._assignors = settings.assignors
        self._is_cooperative = all(ASSIGNORS[name].is_cooperative for name in self._assignors)
        self._member_id = ""
        self._generation = NO_GENERATION
        self._owned: Partitions = frozenset()
        self._had: Partitions = frozenset()
        """What the last round gave: ``sticky`` leaves it where it was, though it was given up meanwhile."""
        self._known_as = GroupMetadata(self._group_id)
        self._told: frozenset[str] = frozenset()
        """The topics that the others know this member to want."""
        self._is_leader = False
        self._must_join = asyncio.Event()
        self._lost: ClientError | None = None
        self._is_overdue = False
        self._task: asyncio.Task[None] | None = None
        self._heart: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self, *, is_leaving: bool = True) -> None:
        """Leave at once, so that others need not wait for the session's end. A static member stays."""
        for task in (self._task, self._heart):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._watch.close()
        if is_leaving and self._settings.group_instance_id is None:
            await self._leave("the consumer is closing")

    def group_metadata(self) -> GroupMetadata:
        """Who this was when it last got partitions, also when the group has gone on without it since.

        Whatever is committed in this name is refused then. In nobody's name it might not be.
        """
        return self._known_as

    def topics_changed(self) -> None:
        """The leader assigns anew; who has a pattern tells the others what it means now."""
        if self._is_leader or self._watch.wanted != self._told:
            self._must_join.set()

    # The task

    async def _run(self) -> None:
        await persist(self._client, self._newsroom, "look up topics", self._watch.look)
        self._watch.start()
        while True:
            if self._lost is None and self._owned and not self._is_cooperative:
                await self._give_up(self._owned)
            if self._lost is not None:
                await self._lose()
            await self._stop_heart()  # JoinGroup keeps the session alive, and would keep heartbeats waiting
            self._must_join.clear()
            if self._is_overdue:
                await self._until_polled()
            assigned = await self._take_part()
            if assigned is None:
                continue
            self._heart = asyncio.get_running_loop().create_task(self._beat())
            self._metrics.rebalances += 1
            self._known_as = GroupMetadata(
                self._group_id, self._generation, self._member_id, self._settings.group_instance_id
            )
            if taken := self._owned - assigned:
                await self._give_up(taken)
                self._must_join.set()
            new = assigned - self._owned
            self._owned = self._had = assigned
            await self._newsroom.hand_over(NewsKind.ASSIGNED, new)
            await self._must_join.wait()

    async def _take_part(self) -> Partitions | None:
        """One round; None when it has to be begun again."""
        try:
            joined = await persist(self._client, self._newsroom, f"join group {self._group_id}", self._join)
            return await persist(
                self._client, self._newsroom, f"join group {self._group_id}", lambda: self._sync(joined)
            )
        except _JoinAgain:
            return None

    async def _give_up(self, partitions: Partitions) -> None:
        """Whoever polls finishes with them, and commits; heartbeats go on meanwhile."""
        await self._newsroom.hand_over(NewsKind.REVOKED, partitions)
        self._owned -= partitions

    async def _lose(self) -> None:
        error, self._lost = self._lost, None
        _logger.warning("lost membership of group %s: %s", self._group_id, error)
        await self._stop_heart()
        partitions, self._owned, self._had = self._owned, frozenset(), frozenset()
        if partitions:
            await self._newsroom.hand_over(NewsKind.LOST, partitions)

    def _forget_membership(self, code: int) -> None:
        self._generation = NO_GENERATION
        if code != ErrorCode.ILLEGAL_GENERATION:
            self._member_id = ""

    async def _until_polled(self) -> None:
        # `poll` runs in another thread, and shall have nothing to do for this.
        while self._poll_clock.overdue_seconds() * 1000 > self._settings.max_poll_interval_ms:  # noqa: ASYNC110
            await asyncio.sleep(min(0.1, self._settings.max_poll_interval_ms / 4000))
        self._is_overdue = False

    # One round

    async def _join(self) -> JoinGroupResponse:
        settings = self._settings
        topics = self._told = self._watch.wanted
        request = JoinGroupRequest(
            self._group_id,
            settings.session_timeout_ms,
            settings.max_poll_interval_ms,
            self._member_id,
            settings.group_instance_id,
            CONSUMER_PROTOCOL_TYPE,
            [
                JoinGroupRequestProtocol(
                    name,
                    subscription_bytes(
                        name, topics, self._owned, self._had, self._generation, settings.client_rack
                    ),
                )
                for name in self._assignors
            ],
        )
        timeout_ms = settings.max_poll_interval_ms + _JOIN_GRACE_MS
        joined: JoinGroupResponse = await self._ask(request, timeout_ms=timeout_ms)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = request.member_id = joined.member_id
            joined = await self._ask(request, timeout_ms=timeout_ms)
        if joined.error_code in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}:
            self._forget_membership(joined.error_code)
            if self._owned:
                self._lost = BrokerError(joined.error_code, f"join group {self._group_id}")
            raise _JoinAgain
        if joined.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            raise _JoinAgain
        check(joined.error_code, f"join group {self._group_id}")
        self._member_id, self._generation = joined.member_id, joined.generation_id
        return joined

    async def _sync(self, joined: JoinGroupResponse) -> Partitions:
        self._is_leader = joined.leader == joined.member_id
        plan: list[SyncGroupRequestAssignment] = []
        if self._is_leader and not joined.skip_assignment:
            plan = await self._plan(joined)
        elif not self._is_leader:
            self._watch.look_only_for_own()
        request = SyncGroupRequest(
            self._group_id,
            self._generation,
            self._member_id,
            self._settings.group_instance_id,
            CONSUMER_PROTOCOL_TYPE,
            joined.protocol_name,
            plan,
        )
        timeout_ms = self._settings.max_poll_interval_ms + _JOIN_GRACE_MS
        response: SyncGroupResponse = await self._ask(request, timeout_ms=timeout_ms)
        if response.error_code in _NOT_A_MEMBER and response.error_code != ErrorCode.FENCED_INSTANCE_ID:
            self._forget_membership(response.error_code)
            if self._owned:
                self._lost = BrokerError(response.error_code, f"join group {self._group_id}")
            raise _JoinAgain
        if response.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            raise _JoinAgain
        check(response.error_code, f"get the partitions of group {self._group_id}")
        return read_assignment(response.assignment, self._group_id)

    async def _plan(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        name = joined.protocol_name or ""
        assignor = ASSIGNORS.get(name)
        if assignor is None:
            raise UnexpectedResponse(f"group {self._group_id} has chosen {name!r}, which was not offered")
        subscribers = [subscriber_of(member, name) for member in joined.members]
        topics = frozenset[str]().union(*(subscriber.topics for subscriber in subscribers))
        counts = await self._watch.look_also(topics)
        return [
            SyncGroupRequestAssignment(member_id, assignment_bytes(partitions))
            for member_id, partitions in assignor.assign(subscribers, counts).items()
        ]

    # Between rounds

    async def _beat(self) -> None:
        settings = self._settings
        while True:
            await asyncio.sleep(settings.heartbeat_interval_ms / 1000)
            if self._poll_clock.overdue_seconds() * 1000 > settings.max_poll_interval_ms:
                await self._give_up_polling()
                return
            request = HeartbeatRequest(
                self._group_id, self._generation, self._member_id, settings.group_instance_id
            )
            try:
                response: HeartbeatResponse = await self._ask(request)
                code = response.error_code
                if code == ErrorCode.REBALANCE_IN_PROGRESS:
                    self._must_join.set()
                elif code in _NOT_A_MEMBER:
                    self._lose_later(code)
                    return
                else:
                    check(code, f"stay in group {self._group_id}")
            except ClientError as error:
                if not error.is_retriable and not isinstance(error, ClusterUnreachable):
                    await self._newsroom.hand_over_error(error)
                self._client.forget_places()

    def _lose_later(self, code: int) -> None:
        self._forget_membership(code)
        self._lost = BrokerError(code, f"stay in group {self._group_id}")
        self._newsroom.lose()
        self._must_join.set()

    async def _give_up_polling(self) -> None:
        """The program has not polled for too long: others shall have the partitions."""
        self._is_overdue = True
        self._lost = PollIntervalExceeded(
            f"poll was not called for max_poll_interval_ms={self._settings.max_poll_interval_ms}: poll more "
            "often, raise max_poll_interval_ms, or lower max_poll_records"
        )
        self._newsroom.lose()
        if self._settings.group_instance_id is None:
            await self._leave("poll was not called in time")
        self._must_join.set()

    async def _leave(self, why: str) -> None:
        if not self._member_id:
            return
        member = MemberIdentity(self._member_id, self._settings.group_instance_id, why)
        member_id, self._member_id, self._generation = self._member_id, "", NO_GENERATION
        try:
            async with asyncio.timeout(_LEAVE_SECONDS_MAX):
                connection = await self._client.coordinator_connection(self._group_id, _PURPOSE)
                if connection.versions.version_for(APIS[_LEAVE_GROUP]) >= _LEAVE_MANY_FROM:
                    await connection.request(LeaveGroupRequest(self._group_id, members=[member]))
                else:
                    await connection.request(LeaveGroupRequest(self._group_id, member_id))
        except (ClientError, TimeoutError) as error:
            _logger.info("could not leave group %s: %s", self._group_id, error)

    async def _stop_heart(self) -> None:
        if self._heart is not None:
            self._heart.cancel()
            await asyncio.gather(self._heart, return_exceptions=True)
            self._heart = None

    async def _ask(self, request: Any, *, timeout_ms: int | None = None) -> Any:
        return await self._client.ask_coordinator(
            self._group_id, request, purpose=_PURPOSE, timeout_ms=timeout_ms
        )


class PollIntervalExceeded(ClientError):
    """The program did not poll in time, and its partitions went to others."""


class _JoinAgain(Exception):
    """The round is void."""
