"""Clients that remember what they were told, as far as tests need it."""

from dataclasses import dataclass, field
from typing import Any

from tests.groups.driver import Driver, topic

from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
)
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from distributedlog.wire.k12_heartbeat import HeartbeatRequest
from distributedlog.wire.k13_leave_group import LeaveGroupRequest, MemberIdentity
from distributedlog.wire.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from distributedlog.wire.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from distributedlog.wire.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupTopicPartitions,
)
from distributedlog.wire.values import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)

NONE = ErrorCode.NONE


def subscription(*topics: str, owned: dict[str, list[int]] | None = None) -> bytes:
    """What a classic consumer says that it reads and owns."""
    partitions = [TopicPartitions(name, indexes) for name, indexes in (owned or {}).items()]
    return encode_subscription(ConsumerProtocolSubscription(list(topics), None, partitions))


def assignment(**topics: list[int]) -> bytes:
    """What a classic leader gives to a member."""
    return encode_assignment(
        ConsumerProtocolAssignment([TopicPartitions(name, indexes) for name, indexes in topics.items()])
    )


def assigned_partitions(data: bytes) -> set[tuple[str, int]]:
    """What a classic member was given."""
    if not data:
        return set()
    return {(t.topic, index) for t in decode_assignment(data).assigned_partitions for index in t.partitions}


@dataclass
class ClassicClient:
    """A member of the classic protocol."""

    driver: Driver
    name: str
    group: str = "g"
    topics: tuple[str, ...] = ("t",)
    protocols: tuple[str, ...] = ("range",)
    protocol_type: str = "consumer"
    instance_id: str | None = None
    session_ms: int = 10_000
    rebalance_ms: int = 30_000
    version: int = 9
    member_id: str = ""
    generation: int = -1
    protocol: str | None = None
    owned: dict[str, list[int]] = field(default_factory=dict)
    metadata: bytes | None = None

    def join(self) -> int:
        """Send JoinGroup; the token of its reply."""
        metadata = self.metadata
        if metadata is None:
            metadata = subscription(*self.topics, owned=self.owned)
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=self.protocol_type,
            protocols=[JoinGroupRequestProtocol(name, metadata) for name in self.protocols],
        )
        return self.driver.send(request, self.version, self.name)

    def enter(self) -> int:
        """Join with the id that the coordinator demands to be used."""
        token = self.join()
        reply = self.driver.reply(token)
        if reply is not None and reply.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = reply.member_id
            token = self.join()
        return token

    def take(self, token: int) -> Any:
        """Remember what a JoinGroup's reply tells."""
        reply = self.driver.reply(token)
        assert reply is not None, f"{self.name} has no answer to its JoinGroup"
        if reply.error_code in (NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = reply.member_id
        if reply.error_code == NONE:
            self.generation = reply.generation_id
            self.protocol = reply.protocol_name
        return reply

    def sync(self, **assignments: bytes) -> int:
        """Send SyncGroup; the token of its reply."""
        given = [SyncGroupRequestAssignment(member_id, data) for member_id, data in assignments.items()]
        return self.sync_with(given)

    def sync_with(self, given: list[SyncGroupRequestAssignment]) -> int:
        request = SyncGroupRequest(
            self.group,
            self.generation,
            self.member_id,
            self.instance_id,
            self.protocol_type,
            self.protocol,
            given,
        )
        return self.driver.send(request, 5, self.name)

    def heartbeat(self) -> ErrorCode:
        """Send Heartbeat; the error in its reply."""
        request = HeartbeatRequest(self.group, self.generation, self.member_id, self.instance_id)
        return ErrorCode(self.driver.ask(request, 4, self.name).error_code)

    def leave(self) -> Any:
        """Send LeaveGroup."""
        request = LeaveGroupRequest(self.group, members=[MemberIdentity(self.member_id, self.instance_id)])
        return self.driver.ask(request, 5, self.name)

    def commit(self, name: str, partition: int, offset: int, version: int = 9) -> ErrorCode:
        """Send OffsetCommit for one partition; the error in its reply."""
        request = commit_request(
            self.group, name, partition, offset, self.generation, self.member_id, self.instance_id
        )
        reply = self.driver.ask(request, version, self.name)
        return ErrorCode(reply.topics[0].partitions[0].error_code)


@dataclass
class ConsumerClient:
    """A member of the new protocol, which lets go at once of what it is not to have."""

    driver: Driver
    name: str
    group: str = "g"
    topics: tuple[str, ...] | None = ("t",)
    regex: str | None = None
    instance_id: str | None = None
    assignor: str | None = None
    rebalance_ms: int = 30_000
    member_id: str = ""
    epoch: int = 0
    owned: dict[bytes, set[int]] = field(default_factory=dict)
    #: Whether it keeps what it should let go, until told otherwise.
    holds: bool = False

    def __post_init__(self) -> None:
        self.member_id = self.member_id or self.name

    def request(self) -> ConsumerGroupHeartbeatRequest:
        """A full request."""
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            rebalance_timeout_ms=self.rebalance_ms,
            subscribed_topic_names=None if self.topics is None else list(self.topics),
            subscribed_topic_regex=self.regex,
            server_assignor=self.assignor,
            topic_partitions=[
                ConsumerGroupTopicPartitions(topic_id, sorted(indexes))
                for topic_id, indexes in self.owned.items()
            ],
        )

    def beat(self, **fields: Any) -> Any:
        """Send a full heartbeat and do as the reply says."""
        request = self.request()
        for name, value in fields.items():
            setattr(request, name, value)
        reply = self.driver.ask(request, 1, self.name)
        self.obey(reply)
        return reply

    def obey(self, reply: Any) -> None:
        """Take the epoch and the assignment, or be fenced."""
        if reply.error_code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            self.epoch = 0
            self.owned = {}
        if reply.error_code != NONE:
            return
        self.epoch = max(reply.member_epoch, 0)
        if reply.assignment is not None:
            given = {t.topic_id: set(t.partitions) for t in reply.assignment.topic_partitions}
            if self.holds:
                for topic_id, indexes in self.owned.items():
                    given.setdefault(topic_id, set()).update(indexes)
            self.owned = {topic_id: indexes for topic_id, indexes in given.items() if indexes}

    def leave(self, epoch: int = -1) -> Any:
        """Say good-bye."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
        )
        reply = self.driver.ask(request, 1, self.name)
        self.epoch = 0
        self.owned = {}
        return reply

    def commit(self, name: str, partition: int, offset: int, version: int = 9) -> ErrorCode:
        """Send OffsetCommit for one partition; the error in its reply."""
        request = commit_request(self.group, name, partition, offset, self.epoch, self.member_id)
        reply = self.driver.ask(request, version, self.name)
        return ErrorCode(reply.topics[0].partitions[0].error_code)

    def has(self, name: str = "t") -> set[int]:
        """The partitions of a topic that it reads."""
        return self.owned.get(topic(name, 0).topic_id, set())


def commit_request(
    group: str,
    name: str,
    partition: int,
    offset: int,
    generation: int = -1,
    member_id: str = "",
    instance_id: str | None = None,
    metadata: str | None = "",
) -> OffsetCommitRequest:
    """A commit of one partition."""
    positions = [OffsetCommitRequestPartition(partition, offset, -1, metadata)]
    return OffsetCommitRequest(
        group,
        generation,
        member_id,
        instance_id,
        topics=[OffsetCommitRequestTopic(name, topic(name, 0).topic_id, positions)],
    )


def txn_commit_request(
    group: str,
    name: str,
    partition: int,
    offset: int,
    producer_id: int,
    generation: int = -1,
    member_id: str = "",
) -> TxnOffsetCommitRequest:
    """A commit of one partition inside of a transaction."""
    positions = [TxnOffsetCommitRequestPartition(partition, offset)]
    return TxnOffsetCommitRequest(
        "tx",
        group,
        producer_id,
        0,
        generation,
        member_id,
        None,
        [TxnOffsetCommitRequestTopic(name, positions)],
    )


def fetch(
    driver: Driver, group: str, name: str, partition: int, require_stable: bool = False
) -> tuple[int, ErrorCode]:
    """The committed offset of one partition, and the error beside it."""
    topics = [OffsetFetchRequestGroupTopic(name, bytes(16), [partition])]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group, topics=topics)], require_stable=require_stable
    )
    answer = driver.ask(request, 9).groups[0]
    assert answer.error_code == NONE
    found = answer.topics[0].partitions[0]
    return found.committed_offset, ErrorCode(found.error_code)


def stable_group(
    driver: Driver, *clients: ClassicClient, assignments: dict[str, bytes] | None = None
) -> None:
    """Bring classic clients together, from the first JoinGroup to their assignments."""
    tokens = [client.enter() for client in clients]
    driver.advance(driver.config.group_initial_rebalance_delay_ms * 3)
    replies = [client.take(token) for client, token in zip(clients, tokens, strict=True)]
    assert {reply.error_code for reply in replies} == {NONE}
    leader_id = replies[0].leader
    for client in sorted(clients, key=lambda client: client.member_id == leader_id):
        given = {c.member_id: (assignments or {}).get(c.name, b"") for c in clients}
        client.sync(**(given if client.member_id == leader_id else {}))
