"""[io] Membership in a consumer group, by the classic protocol with the ``range`` assignor."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.committed import Membership
from distributedlog.client.consumer.subscriber import Subscriber
from distributedlog.client.errors import BrokerError, ClientError, UnexpectedResponse, check
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.range_assignor import RANGE_NAME, assign_ranges
from distributedlog.wire import APIS, ErrorCode, ProtocolError
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from distributedlog.wire.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from distributedlog.wire.k13_leave_group import LeaveGroupRequest, MemberIdentity
from distributedlog.wire.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from distributedlog.wire.values import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from distributedlog.wire.values.consumer_protocol import CONSUMER_PROTOCOL_TYPE

_SUBSCRIPTION_VERSION: Final = 1
_JOIN_GRACE_MS: Final = 5_000
_LEAVE_GROUP: Final = 13
_LEAVE_MANY_FROM: Final = 3
_REJOIN_AS_BEFORE: Final = frozenset({ErrorCode.REBALANCE_IN_PROGRESS})
_REJOIN_AS_NEW: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """Kafka's consumer settings under their own names."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    group_instance_id: str | None = None


@dataclass(slots=True)
class GroupMember:
    """`join` enters the group and returns what to read; when `rebalance` is set, commit and join again.

    A heartbeat runs in between. `failure` holds what ended the membership for good. Each member has a
    connection of its own: a JoinGroup waits for the other members, who may be in this process too.
    """

    client: ClusterClient
    group_id: str
    topics: tuple[str, ...]
    settings: MemberSettings = field(default_factory=MemberSettings)
    rebalance: asyncio.Event = field(default_factory=asyncio.Event)
    failure: ClientError | None = None
    _member_id: str = ""
    _generation_id: int = -1
    _heartbeat: asyncio.Task[None] | None = None

    @property
    def membership(self) -> Membership:
        """What a commit must carry."""
        return Membership(self._generation_id, self._member_id, self.settings.group_instance_id)

    async def join(self) -> list[TopicPartition]:
        """Take part in a rebalance until it is through; returns this member's partitions."""
        await self._stop_heartbeat()
        while True:
            self.rebalance.clear()
            try:
                partitions = await self.client.retrying(self._join_once)
            except BrokerError as error:
                if error.code in _REJOIN_AS_NEW:
                    self._member_id, self._generation_id = "", -1
                elif error.code not in _REJOIN_AS_BEFORE:
                    raise
                continue
            self._heartbeat = asyncio.create_task(self._beat())
            return partitions

    async def leave(self) -> None:
        """Leave at once, so that the others need not wait for the session to run out.

        A static member stays: it is expected to come back.
        """
        await self._stop_heartbeat()
        if not self._member_id or self.settings.group_instance_id is not None:
            return
        member = MemberIdentity(self._member_id, None, "the consumer is closing")
        connection = await self.client.coordinator_connection(self.group_id, self._purpose)
        version = connection.versions.version_for(APIS[_LEAVE_GROUP])
        if version >= _LEAVE_MANY_FROM:
            request = LeaveGroupRequest(self.group_id, members=[member])
        else:
            request = LeaveGroupRequest(self.group_id, self._member_id)
        self._member_id, self._generation_id = "", -1
        await connection.request(request)

    async def _join_once(self) -> list[TopicPartition]:
        joined = await self._ask_to_join()
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = joined.member_id
            joined = await self._ask_to_join()
        check(joined.error_code, f"join group {self.group_id}")
        self._member_id, self._generation_id = joined.member_id, joined.generation_id
        plan: list[SyncGroupRequestAssignment] = []
        if joined.leader == joined.member_id and not joined.skip_assignment:
            plan = await self._plan(joined)
        return await self._sync(joined, plan)

    async def _ask_to_join(self) -> JoinGroupResponse:
        settings = self.settings
        subscription = ConsumerProtocolSubscription(list(self.topics))
        request = JoinGroupRequest(
            self.group_id,
            settings.session_timeout_ms,
            settings.max_poll_interval_ms,
            self._member_id,
            settings.group_instance_id,
            CONSUMER_PROTOCOL_TYPE,
            [JoinGroupRequestProtocol(RANGE_NAME, encode_subscription(subscription, _SUBSCRIPTION_VERSION))],
        )
        response: JoinGroupResponse = await self._ask(
            request, timeout_ms=settings.max_poll_interval_ms + _JOIN_GRACE_MS
        )
        return response

    async def _plan(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        subscribers = []
        for member in joined.members:
            try:
                topics = frozenset(decode_subscription(member.metadata).topics)
            except ProtocolError as error:
                raise UnexpectedResponse(
                    f"the subscription of member {member.member_id} cannot be read: {error}"
                ) from None
            subscribers.append(Subscriber(member.member_id, topics, member.group_instance_id))
        await self.client.refresh(set().union(*(subscriber.topics for subscriber in subscribers)))
        known = self.client.metadata.topics
        counts = {name: len(topic.partitions) for name, topic in known.items()}
        return [
            SyncGroupRequestAssignment(member_id, encode_assignment(_as_wire(partitions)))
            for member_id, partitions in assign_ranges(subscribers, counts).items()
        ]

    async def _sync(
        self, joined: JoinGroupResponse, plan: list[SyncGroupRequestAssignment]
    ) -> list[TopicPartition]:
        request = SyncGroupRequest(
            self.group_id,
            self._generation_id,
            self._member_id,
            self.settings.group_instance_id,
            CONSUMER_PROTOCOL_TYPE,
            joined.protocol_name,
            plan,
        )
        response: SyncGroupResponse = await self._ask(
            request, timeout_ms=self.settings.max_poll_interval_ms + _JOIN_GRACE_MS
        )
        check(response.error_code, f"get the partitions of group {self.group_id}")
        if not response.assignment:
            return []
        try:
            topics = decode_assignment(response.assignment).assigned_partitions
        except ProtocolError as error:
            raise UnexpectedResponse(f"the assignment of group {self.group_id}: {error}") from None
        return [TopicPartition(topic.topic, index) for topic in topics for index in topic.partitions]

    async def _beat(self) -> None:
        request = HeartbeatRequest(
            self.group_id, self._generation_id, self._member_id, self.settings.group_instance_id
        )
        while not self.rebalance.is_set():
            await asyncio.sleep(self.settings.heartbeat_interval_ms / 1000)
            try:
                response: HeartbeatResponse = await self._ask(request)
                if response.error_code in _REJOIN_AS_BEFORE | _REJOIN_AS_NEW:
                    if response.error_code in _REJOIN_AS_NEW:
                        self._generation_id = -1
                        if response.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                            self._member_id = ""
                    self.rebalance.set()
                    return
                check(response.error_code, f"stay in group {self.group_id}")
            except ClientError as error:
                if not error.is_retriable:
                    self.failure = error
                    self.rebalance.set()
                    return
                self.client.forget_places()

    async def _ask(self, request: Any, *, timeout_ms: int | None = None) -> Any:
        return await self.client.ask_coordinator(
            self.group_id, request, purpose=self._purpose, timeout_ms=timeout_ms
        )

    @property
    def _purpose(self) -> str:
        return f"member {id(self)}"

    async def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            await asyncio.gather(self._heartbeat, return_exceptions=True)
            self._heartbeat = None


def _as_wire(partitions: Iterable[TopicPartition]) -> ConsumerProtocolAssignment:
    topics: dict[str, TopicPartitions] = {}
    for topic, index in partitions:
        topics.setdefault(topic, TopicPartitions(topic)).partitions.append(index)
    return ConsumerProtocolAssignment(list(topics.values()))
