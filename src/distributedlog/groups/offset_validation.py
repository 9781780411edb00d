"""Whether a member may commit and fetch: it must be of this generation, or own what it commits."""

from distributedlog.groups.classic_group import ClassicGroup, ClassicState
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import ConsumerMember
from distributedlog.groups.errors import GroupError
from distributedlog.groups.state import Group
from distributedlog.wire.error_codes import ErrorCode


class CommitFence:
    """Asked for each partition of a commit.

    A member that is behind in its epoch may still commit what it had in that epoch and has not lost since
    (KIP-1251): nobody else can have read those partitions meanwhile.
    """

    __slots__ = ("epoch", "member")

    def __init__(self, member: ConsumerMember | None = None, epoch: int = 0) -> None:
        self.member = member
        self.epoch = epoch

    def __call__(self, topic_id: bytes, partition: int) -> ErrorCode:
        if self.member is None:
            return ErrorCode.NONE
        owned_since = self.member.owned_epoch(topic_id, partition)
        if owned_since is not None and owned_since <= self.epoch:
            return ErrorCode.NONE
        return stale(self.member)


def stale(member: ConsumerMember) -> ErrorCode:
    """A wrong epoch, in the words of the member's protocol."""
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION


def validate_commit(
    group: Group,
    member_id: str,
    instance_id: str | None,
    generation: int,
    *,
    is_transactional: bool,
    knows_epochs: bool,
) -> CommitFence:
    """What the commit's partitions are to be asked; an error if the whole commit is refused."""
    if isinstance(group, ClassicGroup):
        _validate_classic(group, member_id, instance_id, generation, is_transactional)
        return CommitFence()
    return _validate_consumer(group, member_id, instance_id, generation, is_transactional, knows_epochs)


def _validate_classic(
    group: ClassicGroup, member_id: str, instance_id: str | None, generation: int, is_transactional: bool
) -> None:
    if generation < 0 and group.is_empty:
        return
    if generation >= 0 or member_id or instance_id is not None:
        group.validate_member(member_id, instance_id)
        if generation != group.generation:
            raise GroupError(ErrorCode.ILLEGAL_GENERATION)
    elif not is_transactional:
        raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
    if not is_transactional and group.state is ClassicState.COMPLETING_REBALANCE:
        # The member has heard of the generation, but not of what it is to read in it.
        raise GroupError(ErrorCode.REBALANCE_IN_PROGRESS)


def _validate_consumer(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    epoch: int,
    is_transactional: bool,
    knows_epochs: bool,
) -> CommitFence:
    if epoch < 0 and group.is_empty:
        return CommitFence()
    if is_transactional and epoch == -1 and not member_id and instance_id is None:
        return CommitFence()
    member = group.member(member_id)
    if not is_transactional and member.classic is None and not knows_epochs:
        raise GroupError(ErrorCode.UNSUPPORTED_VERSION)
    if epoch == member.member_epoch:
        return CommitFence()
    if epoch > member.member_epoch:
        raise GroupError(stale(member))
    return CommitFence(member, epoch)


def validate_fetch(group: Group, member_id: str | None, epoch: int) -> None:
    """Members of the new protocol name themselves from OffsetFetch 9 on; others need not."""
    if isinstance(group, ClassicGroup) or (member_id is None and epoch < 0):
        return
    member = group.member(member_id or "")
    if epoch != member.member_epoch:
        raise GroupError(stale(member))
