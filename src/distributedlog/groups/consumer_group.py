"""A group of the new consumer protocol (KIP-848). All of it is hard state: only replay changes it.

Three epochs follow each other. The group epoch rises with every change of members, subscriptions or
topics; the assignment epoch says for which of them the target was computed; a member's epoch says which
target it has reached.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from distributedlog.groups import records
from distributedlog.groups.assignment import EMPTY_ASSIGNMENT, Assignment, OwnedPartitions
from distributedlog.groups.consumer_member import ConsumerMember, MemberState, ResolvedRegex
from distributedlog.groups.errors import GroupError
from distributedlog.groups.outcome import Change
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.values.consumer_protocol import CONSUMER_PROTOCOL_TYPE


class ConsumerGroup:
    """A consumer group."""

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp_ms",
        "epoch",
        "group_id",
        "has_partition_metadata_record",
        "members",
        "metadata_hash",
        "needs_refresh",
        "partition_epochs",
        "refreshed_epoch",
        "regex_counts",
        "resolved_regexes",
        "static_members",
        "target",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.assignment_epoch = 0
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        self.target: dict[str, Assignment] = {}
        self.resolved_regexes: dict[str, ResolvedRegex] = {}
        self.has_partition_metadata_record = False
        #: derived: who owns what is known by the epoch of the owner
        self.partition_epochs: dict[bytes, dict[int, int]] = {}
        #: derived: how many members subscribe to each regular expression
        self.regex_counts: Counter[str] = Counter()
        #: Soft: whether topics may have changed since the hash was taken, which is so after loading, and
        #: the epoch in which it was last taken; a group that is behind that epoch lost the record.
        self.needs_refresh = True
        self.refreshed_epoch = 0

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        return not self.members

    @property
    def state(self) -> str:
        """The state as it is listed and described."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def has_stale_metadata(self) -> bool:
        """Whether the hash of the topics must be taken anew."""
        return self.needs_refresh or self.epoch < self.refreshed_epoch

    # members

    def member(self, member_id: str) -> ConsumerMember:
        """The member of this id."""
        member = self.members.get(member_id)
        if member is None:
            raise GroupError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group_id}.",
            )
        return member

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """The member that holds an instance id."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def validate_member(self, member_id: str, instance_id: str | None) -> ConsumerMember:
        """The member; an error if it is none, or if its instance id belongs to another."""
        if instance_id is None:
            return self.member(member_id)
        member = self.static_member(instance_id)
        if member is None:
            raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise GroupError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member "
                f"{member.member_id}.",
            )
        return member

    def put_member(self, member: ConsumerMember) -> None:
        """Replay: a member is new, or newer."""
        old = self.members.get(member.member_id)
        if old is not None:
            self._forget(old)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if member.subscribed_topic_regex:
            self.regex_counts[member.subscribed_topic_regex] += 1
        self._own(member.assigned, member.member_epoch)
        self._own(member.pending_revocation, member.member_epoch)

    def remove_member(self, member_id: str) -> None:
        """Replay: a member is gone."""
        old = self.members.pop(member_id, None)
        if old is None:
            return
        self._forget(old)
        if old.instance_id is not None and self.static_members.get(old.instance_id) == member_id:
            del self.static_members[old.instance_id]

    def _forget(self, member: ConsumerMember) -> None:
        regex = member.subscribed_topic_regex
        if regex:
            self.regex_counts[regex] -= 1
            if not self.regex_counts[regex]:
                del self.regex_counts[regex]
        self._disown(member.assigned, member.member_epoch)
        self._disown(member.pending_revocation, member.member_epoch)

    # partitions

    def partition_epoch(self, topic_id: bytes, partition: int) -> int:
        """The epoch of the member that owns a partition or has yet to let it go; -1 if it is free."""
        return self.partition_epochs.get(topic_id, {}).get(partition, -1)

    def target_of(self, member_id: str, instance_id: str | None = None) -> Assignment:
        """What a member is to have; a static member takes over from who held its instance id."""
        if instance_id is not None:
            member_id = self.static_members.get(instance_id, member_id)
        return self.target.get(member_id, EMPTY_ASSIGNMENT)

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Whether something that the member is to get is still with another."""
        return member.state is MemberState.UNRELEASED_PARTITIONS and any(
            partition not in member.assigned.get(topic, {}) and self.partition_epoch(topic, partition) != -1
            for topic, partitions in self.target_of(member.member_id).items()
            for partition in partitions
        )

    def _own(self, owned: OwnedPartitions, epoch: int) -> None:
        # A compacted log may hold the new owner's record before the old one's last: the later epoch wins.
        for topic, partitions in owned.items():
            epochs = self.partition_epochs.setdefault(topic, {})
            for partition in partitions:
                epochs[partition] = max(epoch, epochs.get(partition, epoch))

    def _disown(self, owned: OwnedPartitions, epoch: int) -> None:
        for topic, partitions in owned.items():
            epochs = self.partition_epochs.get(topic)
            if epochs is None:
                continue
            for partition in partitions:
                if epochs.get(partition) == epoch:
                    del epochs[partition]
            if not epochs:
                del self.partition_epochs[topic]

    # subscriptions

    def members_with(
        self, changed: Iterable[ConsumerMember] = (), without: Iterable[str] = ()
    ) -> dict[str, ConsumerMember]:
        """The members as they will be after a change that is not replayed yet."""
        members = dict(self.members)
        for member in changed:
            members[member.member_id] = member
        for member_id in without:
            members.pop(member_id, None)
        return members

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The names that a member subscribes to, its regular expression resolved."""
        resolved = self.resolved_regexes.get(member.subscribed_topic_regex or "")
        if resolved is None:
            return member.subscribed_topic_names
        return member.subscribed_topic_names | resolved.topics

    def subscribed_topics(self, members: Mapping[str, ConsumerMember] | None = None) -> set[str]:
        """The names that any member subscribes to."""
        topics: set[str] = set()
        for member in (self.members if members is None else members).values():
            topics.update(self.topics_of(member))
        return topics

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether any member reads the topic."""
        return any(topic in self.topics_of(member) for member in self.members.values())

    def preferred_assignor(self, members: Mapping[str, ConsumerMember]) -> str | None:
        """The assignor that most members ask for; of equals, the one of the oldest member."""
        votes = Counter(m.server_assignor for m in members.values() if m.server_assignor is not None)
        return max(votes, key=votes.__getitem__) if votes else None

    # classic members

    def supports_classic(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a classic member with these protocols fits to the classic members that are there."""
        offered = set(names)
        if protocol_type != CONSUMER_PROTOCOL_TYPE or not offered:
            return False
        for member in self.members.values():
            if member.classic is not None:
                offered &= {protocol.name for protocol in member.classic.supported_protocols}
        return bool(offered)

    def all_classic_without(self, member_ids: Iterable[str]) -> bool:
        """Whether only classic members would remain, so that the group could be a classic one again."""
        going = set(member_ids)
        return all(
            member.classic is not None for member in self.members.values() if member.member_id not in going
        )

    def tombstones(self) -> list[Change]:
        """The records that end the group."""
        return records.consumer_group_tombstones(self.group_id, self.members, self.resolved_regexes)
