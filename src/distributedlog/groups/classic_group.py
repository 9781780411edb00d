"""A group of the classic protocol: its members and the state machine they move through.

::

    Empty ─join─▶ PreparingRebalance ─all joined─▶ CompletingRebalance ─leader synced─▶ Stable
      ▲                │  ▲                                │                              │
      └── no members ──┘  └────────────── any change ──────┴──────────────────────────────┘

``committed`` is the hard state: the last record replayed. Everything else is what a rebalance is about
before it is done, and is lost with the coordinator; its members then find the last committed generation.
"""

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

from distributedlog.groups.classic_member import ClassicMember
from distributedlog.groups.errors import GroupError
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.errors import ProtocolError
from distributedlog.wire.values import decode_subscription
from distributedlog.wire.values.consumer_protocol import CONSUMER_PROTOCOL_TYPE

if TYPE_CHECKING:
    from distributedlog.wire.values.group_records import GroupMetadataValue


class ClassicState(Enum):
    """The states, as they are listed and described."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


class ClassicGroup:
    """A classic group. There is no Dead state here: a dead group is one that is not there."""

    __slots__ = (
        "_protocol_counts",
        "committed",
        "extension_ms",
        "generation",
        "group_id",
        "is_initial_rebalance",
        "joined_since_wakeup",
        "leader_id",
        "members",
        "pending_joins",
        "pending_syncs",
        "protocol",
        "protocol_type",
        "replacement",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "waiting_joins",
    )

    def __init__(self, group_id: str, now_ms: int = -1) -> None:
        self.group_id = group_id
        self.state = ClassicState.EMPTY
        self.state_timestamp_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        #: ids given out with MEMBER_ID_REQUIRED that have not come back yet
        self.pending_joins: set[str] = set()
        #: members that have their JoinGroup answer and have not sent SyncGroup
        self.pending_syncs: set[str] = set()
        self.waiting_joins = 0
        #: the topics that the members read; None where the coordinator cannot know
        self.subscribed_topics: frozenset[str] | None = None
        self.committed: GroupMetadataValue | None = None
        #: a static member that came back, as (old id, the member under its new id), not persisted yet
        self.replacement: tuple[str, ClassicMember] | None = None
        #: The first rebalance of an empty group waits for more members to come: as long as some came
        #: since the last wake-up, and ``extension_ms`` is not used up.
        self.is_initial_rebalance = False
        self.joined_since_wakeup = False
        self.extension_ms = 0
        self._protocol_counts: dict[str, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members and is not about to get any."""
        return self.state is ClassicState.EMPTY

    @property
    def is_simple(self) -> bool:
        """Whether the group exists only because offsets were committed under its name."""
        return self.committed is None and self.is_empty and not self.pending_joins

    @property
    def is_settled(self) -> bool:
        """Whether members are in a generation: from here on, any change means a new rebalance."""
        return self.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE)

    @property
    def has_all_joined(self) -> bool:
        """Whether nobody needs to be waited for."""
        return len(self.members) == self.waiting_joins and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that any member asks to be waited for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def enter(self, state: ClassicState, now_ms: int) -> None:
        """Go to another state."""
        self.state = state
        self.state_timestamp_ms = now_ms

    # members

    def add(self, member: ClassicMember) -> None:
        """Take in a member that is not there yet. The first one leads."""
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count(member, 1)
        if member.joining is not None:
            self.waiting_joins += 1
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Take out a member or a pending id, whichever it is. If the leader goes, the oldest leads."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member, -1)
            if member.joining is not None:
                self.waiting_joins -= 1
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)

    def replace(self, old_member_id: str, member: ClassicMember) -> None:
        """Put a static member, under its new id, in the place of what it was."""
        old = self.members[old_member_id]
        leads = self.leader_id == old_member_id
        others = {key: value for key, value in self.members.items() if key != old_member_id}
        self._count(old, -1)
        if old.joining is not None:
            self.waiting_joins -= 1
        self.pending_syncs.discard(old_member_id)
        self.members = others
        self.add(member)
        if leads:
            self.leader_id = member.member_id

    def reset_members(self, members: list[ClassicMember], leader_id: str | None) -> None:
        """Hold these members and no others."""
        self.members = {member.member_id: member for member in members}
        self.static_members = {m.instance_id: m.member_id for m in members if m.instance_id is not None}
        self.waiting_joins = sum(member.joining is not None for member in members)
        self.pending_syncs &= self.members.keys()
        self.leader_id = leader_id
        self._protocol_counts = {}
        for member in members:
            self._count(member, 1)

    def update(self, member: ClassicMember, protocols: dict[str, bytes]) -> None:
        """Note what a member offers now."""
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)

    def elect_joined_leader(self) -> bool:
        """Make sure that a member leads who has joined; False if none has."""
        leader = None if self.leader_id is None else self.members.get(self.leader_id)
        if leader is None:
            return False
        if leader.joining is None:
            joined = next((m for m in self.members.values() if m.joining is not None), None)
            if joined is None:
                return False
            self.leader_id = joined.member_id
        return True

    def validate_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member; an error if it is none, or if its instance id belongs to another."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise GroupError(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    # protocols

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these protocols can be in the group: one must be common to all."""
        if self.is_empty:
            return bool(protocol_type) and any(True for _ in names)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._protocol_counts.get(name, 0) == size for name in names
        )

    def select_protocol(self) -> str:
        """The protocol with the most votes among those that all members support."""
        return elect_protocol(list(self.members.values()))

    def next_generation(self, now_ms: int) -> None:
        """Close the join phase: either the members get a generation, or there are none left."""
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        self.enter(
            ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY,
            now_ms,
        )
        self.pending_syncs.clear()

    @property
    def uses_consumer_protocol(self) -> bool:
        """Whether the members are consumers, so that their subscriptions can be read."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """The union of the members' topics; None if they are no consumers or cannot be understood."""
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol is None:
            return None
        topics: set[str] = set()
        try:
            for member in self.members.values():
                topics.update(decode_subscription(member.protocols.get(self.protocol, b"")).topics)
        except ProtocolError:
            return None
        return frozenset(topics)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether the topic is being read; consumers that cannot be understood may read any."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def _count(self, member: ClassicMember, by: int) -> None:
        for name in member.protocols:
            self._protocol_counts[name] = self._protocol_counts.get(name, 0) + by


def elect_protocol(members: list[ClassicMember]) -> str:
    """Every member votes for the first of its protocols that all support; of equals, the first voted for."""
    candidates = set(members[0].protocols)
    for member in members[1:]:
        candidates &= member.protocols.keys()
    votes: dict[str, int] = {}
    for member in members:
        choice = member.votes_for(candidates)
        votes[choice] = votes.get(choice, 0) + 1
    return max(votes, key=votes.__getitem__)
