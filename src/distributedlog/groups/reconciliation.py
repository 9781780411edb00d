"""One step of a member towards its target: first let go, then get, as far as others have let go.

A member stays in its epoch until it has let go of everything that is not its own any more; only then it
goes to the epoch of the target. What it is to get is given to it when nobody else holds it. So no
partition is ever with two members.
"""

from collections.abc import Iterable

from distributedlog.groups.assignment import Assignment, OwnedPartitions
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import ConsumerMember, MemberState
from distributedlog.groups.errors import GroupError
from distributedlog.groups.topics import TopicsImage
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k68_consumer_group_heartbeat import ConsumerGroupTopicPartitions

#: What a member says that it owns; None where it does not say.
Reported = Iterable[ConsumerGroupTopicPartitions] | None


def reconcile(
    group: ConsumerGroup,
    member: ConsumerMember,
    image: TopicsImage,
    target_epoch: int,
    target: Assignment,
    subscription_changed: bool,
    reported: Reported,
) -> ConsumerMember:
    """The member after the step; the same one if it has to wait."""
    step = _Step(group, member, image, target_epoch, target, reported)
    match member.state:
        case MemberState.STABLE:
            if member.member_epoch != target_epoch:
                return step.towards_target(member.member_epoch)
            return step.drop_unsubscribed() if subscription_changed else member
        case MemberState.UNREVOKED_PARTITIONS:
            if step.still_holds(member.pending_revocation):
                return step.drop_unsubscribed() if subscription_changed else member
            return step.towards_target(member.member_epoch)
        case MemberState.UNRELEASED_PARTITIONS:
            return step.towards_target(member.member_epoch)
        case MemberState.UNKNOWN:
            if reported is None or any(True for _ in reported):
                raise GroupError(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The member is in an unknown state. It must abandon all its partitions and rejoin.",
                )
            return step.towards_target(target_epoch)


class _Step:
    __slots__ = ("group", "image", "member", "reported", "target", "target_epoch", "topic_ids")

    def __init__(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        image: TopicsImage,
        target_epoch: int,
        target: Assignment,
        reported: Reported,
    ) -> None:
        self.group = group
        self.member = member
        self.image = image
        self.target_epoch = target_epoch
        self.target = target
        self.reported = reported
        self.topic_ids = {image.id_of(name) for name in group.topics_of(member)}

    def still_holds(self, partitions: OwnedPartitions) -> bool:
        """Whether the member has not let go of some of these, or does not say."""
        if self.reported is None:
            return True
        return any(
            index in partitions.get(topic.topic_id, {})
            for topic in self.reported
            for index in topic.partitions
        )

    def drop_unsubscribed(self) -> ConsumerMember:
        """Without a new target: take away only what the member does not subscribe to any more."""
        member = self.member
        staying = {topic: held for topic, held in member.assigned.items() if topic in self.topic_ids}
        if len(staying) == len(member.assigned):
            return member
        revoking = {topic: dict(held) for topic, held in member.pending_revocation.items()}
        for topic, held in member.assigned.items():
            if topic not in staying:
                revoking.setdefault(topic, {}).update(held)
        if self.still_holds(revoking):
            return member.at_epoch(
                member.member_epoch,
                state=MemberState.UNREVOKED_PARTITIONS,
                assigned=staying,
                pending_revocation=revoking,
            )
        return member.at_epoch(member.member_epoch, assigned=staying)

    def towards_target(self, epoch: int) -> ConsumerMember:
        """Compare what the member has with what it is to have."""
        member = self.member
        keeping: dict[bytes, dict[int, int]] = {}
        revoking: dict[bytes, dict[int, int]] = {}
        getting: dict[bytes, set[int]] = {}
        others_hold = False
        for topic in {**self.target, **member.assigned}:
            wanted = self.target.get(topic, frozenset()) if topic in self.topic_ids else frozenset()
            held = member.assigned.get(topic, {})
            keep = {index: held_epoch for index, held_epoch in held.items() if index in wanted}
            revoke = {index: held_epoch for index, held_epoch in held.items() if index not in wanted}
            own = member.pending_revocation.get(topic, {})
            get = set()
            for index in wanted - keep.keys():
                if self.group.partition_epoch(topic, index) == -1 or index in own:
                    get.add(index)
                else:
                    others_hold = True
            if keep:
                keeping[topic] = keep
            if revoke:
                revoking[topic] = revoke
            if get:
                getting[topic] = get

        if revoking and self.still_holds(revoking):
            return member.at_epoch(
                epoch,
                state=MemberState.UNREVOKED_PARTITIONS,
                assigned=keeping,
                pending_revocation=revoking,
            )
        for topic, indexes in getting.items():
            epochs = keeping.setdefault(topic, {})
            epochs.update(dict.fromkeys(indexes, self.target_epoch))
        return member.at_epoch(
            self.target_epoch,
            state=MemberState.UNRELEASED_PARTITIONS if others_hold else MemberState.STABLE,
            assigned=keeping,
            pending_revocation={},
        )
