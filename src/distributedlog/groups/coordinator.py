"""The group coordinator as a pure state machine: requests, records and timers in, outcomes out.

One coordinator stands for one partition of ``__consumer_offsets``, or for all of them in a broker that
leads them all. What the driver owes it is written in
`distributedlog.coordination.outcome`.
"""

from collections.abc import Callable
from typing import Any, Final

from distributedlog.coordination import Context, Timer
from distributedlog.groups import (
    classic_join,
    classic_leave,
    classic_rebalance,
    classic_sync,
    consumer_heartbeat,
    consumer_leave,
    consumer_timers,
    listing,
    offset_commit,
    offset_expiry,
    offset_fetch,
    regex_subscription,
)
from distributedlog.groups.append_failure import failed_reply
from distributedlog.groups.classic_group import ClassicGroup, ClassicState
from distributedlog.groups.classic_replay import replay_classic_group
from distributedlog.groups.config import GroupConfig
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import MemberState
from distributedlog.groups.consumer_replay import replay_consumer_group
from distributedlog.groups.offset_store import CommittedOffset
from distributedlog.groups.outcome import Outcome, TimerKey, TimerKind
from distributedlog.groups.state import CoordinatorState
from distributedlog.groups.topics import TopicsImage
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k08_offset_commit import OffsetCommitRequest
from distributedlog.wire.k09_offset_fetch import OffsetFetchRequest
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupResponse
from distributedlog.wire.k12_heartbeat import HeartbeatRequest
from distributedlog.wire.k13_leave_group import LeaveGroupRequest
from distributedlog.wire.k14_sync_group import SyncGroupRequest, SyncGroupResponse
from distributedlog.wire.k15_describe_groups import DescribeGroupsRequest
from distributedlog.wire.k16_list_groups import ListGroupsRequest
from distributedlog.wire.k28_txn_offset_commit import TxnOffsetCommitRequest
from distributedlog.wire.k42_delete_groups import DeleteGroupsRequest
from distributedlog.wire.k47_offset_delete import OffsetDeleteRequest
from distributedlog.wire.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from distributedlog.wire.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from distributedlog.wire.primitives import Buffer
from distributedlog.wire.values import UnknownKey, decode_offsets_key, decode_offsets_value
from distributedlog.wire.values.group_records import GroupMetadataKey, OffsetCommitKey, OffsetCommitValue
from distributedlog.wire.values.offsets_topic import OffsetsKey

NO_PRODUCER_ID: Final = -1
#: How soon a timer whose records could not be written is tried again.
RETRY_MS: Final = 500

_Handler = Callable[[CoordinatorState, Context, Any, Outcome], None]

_HANDLERS: Final[dict[type[Any], _Handler]] = {
    OffsetCommitRequest: offset_commit.offset_commit,
    OffsetFetchRequest: offset_fetch.offset_fetch,
    JoinGroupRequest: classic_join.join_group,
    HeartbeatRequest: classic_sync.heartbeat,
    LeaveGroupRequest: classic_leave.leave_group,
    SyncGroupRequest: classic_sync.sync_group,
    DescribeGroupsRequest: listing.describe_groups,
    ListGroupsRequest: listing.list_groups,
    TxnOffsetCommitRequest: offset_commit.txn_offset_commit,
    DeleteGroupsRequest: listing.delete_groups,
    OffsetDeleteRequest: offset_commit.offset_delete,
    ConsumerGroupHeartbeatRequest: consumer_heartbeat.consumer_group_heartbeat,
    ConsumerGroupDescribeRequest: listing.consumer_group_describe,
}

_EXPIRY = TimerKey(TimerKind.EXPIRY)


class GroupCoordinator:
    """See the module. ``new_id`` makes up the random part of member ids."""

    __slots__ = ("state",)

    def __init__(self, config: GroupConfig, new_id: Callable[[], str]) -> None:
        self.state = CoordinatorState(config, new_id)

    def handle(self, context: Context, request: Any) -> Outcome:
        """Act on a request of one of the group APIs."""
        out = Outcome()
        _HANDLERS[type(request)](self.state, context, request, out)
        return self._finished(out)

    # hard state

    def replay(
        self, key: Buffer, value: Buffer | None, offset: int = -1, producer_id: int = NO_PRODUCER_ID
    ) -> None:
        """Apply a record of the log; ``producer_id`` only for records of a transactional batch.

        Records of kinds that only other software writes are passed over.
        """
        decoded = decode_offsets_key(key)
        if not isinstance(decoded, UnknownKey):
            self._apply(decoded, decode_offsets_value(decoded, value), offset, producer_id)

    def replay_end_transaction(self, producer_id: int, committed: bool) -> None:
        """Apply a transaction's end marker."""
        self.state.offsets.end_transaction(producer_id, committed)

    def applied(self, outcome: Outcome, base_offset: int) -> None:
        """An outcome's records have been appended, the first of them at ``base_offset``."""
        producer_id = NO_PRODUCER_ID if outcome.transaction is None else outcome.transaction.producer_id
        for index, change in enumerate(outcome.changes):
            self._apply(change.key, change.value, base_offset + index, producer_id)

    def _apply(self, key: OffsetsKey, value: Any, offset: int, producer_id: int) -> None:
        if isinstance(key, OffsetCommitKey):
            self._apply_offset(key, value, offset, producer_id)
        elif isinstance(key, GroupMetadataKey):
            replay_classic_group(self.state, key, value)
        else:
            replay_consumer_group(self.state, key, value)

    def _apply_offset(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, offset: int, producer_id: int
    ) -> None:
        offsets = self.state.offsets
        if value is None:
            offsets.remove(key.group, key.topic, key.partition)
            return
        if key.group not in self.state.groups:
            self.state.groups[key.group] = ClassicGroup(key.group)
        committed = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            offset,
        )
        if producer_id == NO_PRODUCER_ID:
            offsets.put(key.group, key.topic, key.partition, committed)
        else:
            offsets.put_pending(producer_id, key.group, key.topic, key.partition, committed)

    # life of the coordinator

    def loaded(self, now_ms: int) -> Outcome:
        """All records have been replayed: sessions begin, as if every member had just been heard of."""
        out = Outcome()
        state = self.state
        state.timers.set(_EXPIRY, now_ms + state.config.offsets_retention_check_interval_ms)
        for group in list(state.groups.values()):
            self._watch(group, now_ms)
            if isinstance(group, ClassicGroup) and len(group.members) > state.config.group_max_size:
                classic_rebalance.prepare_rebalance(state, group, now_ms, out)
        return self._finished(out)

    def unloaded(self) -> Outcome:
        """Another broker takes over, or the log failed: who waits is sent there. Use it no more."""
        out = Outcome()
        gone = ErrorCode.NOT_COORDINATOR
        for group in (*self.state.groups.values(), *self.state.staged.values()):
            if isinstance(group, ClassicGroup):
                for member in group.members.values():
                    join = JoinGroupResponse(error_code=gone, member_id=member.member_id)
                    classic_rebalance.answer_join(group, member, join, out)
                    classic_rebalance.answer_sync(member, SyncGroupResponse(error_code=gone), out)
        return out

    def append_failed(self, outcome: Outcome, error: ErrorCode, now_ms: int) -> Outcome:
        """An outcome's records were not appended: undo what was begun, and tell those who asked.

        Hard state has not changed. Of soft state, groups that were to begin are forgotten, members whose
        deadlines were taken away get them back, and a classic group that was to be stable joins anew.
        """
        state = self.state
        out = Outcome(replies=[failed_reply(reply, error) for reply in outcome.replies])
        touched = {_group_of(change.key) for change in outcome.changes}
        for group_id in sorted(touched):
            staged = state.staged.pop(group_id, None)
            if staged is not None:
                self._forget_staged(staged, error, out)
            group = state.groups.get(group_id)
            if group is None:
                continue
            self._watch(group, now_ms)
            if isinstance(group, ClassicGroup):
                group.replacement = None
                wrote = any(isinstance(change.key, GroupMetadataKey) for change in outcome.changes)
                if wrote and group.state is ClassicState.COMPLETING_REBALANCE:
                    classic_rebalance.prepare_rebalance(state, group, now_ms, out)
        if outcome.fired is not None:
            state.timers.set(outcome.fired, now_ms + RETRY_MS, outcome.fired_epoch)
        return self._finished(out)

    def _forget_staged(self, group: ClassicGroup, error: ErrorCode, out: Outcome) -> None:
        timers = self.state.timers
        timers.cancel(classic_rebalance.join_key(group))
        timers.cancel(classic_rebalance.sync_key(group))
        for member_id in (*group.members, *group.pending_joins):
            timers.cancel(classic_rebalance.session_key(group, member_id))
        for member in group.members.values():
            if member.joining is not None:
                waiting = Outcome()
                classic_rebalance.answer_join(group, member, JoinGroupResponse(), waiting)
                out.replies.extend(failed_reply(reply, error) for reply in waiting.replies)

    def _watch(self, group: ClassicGroup | ConsumerGroup, now_ms: int) -> None:
        """See that every member has a deadline, and every phase of a rebalance an end."""
        timers = self.state.timers
        if isinstance(group, ClassicGroup):
            for member in group.members.values():
                key = classic_rebalance.session_key(group, member.member_id)
                timers.set_if_absent(key, now_ms + member.session_timeout_ms)
            if group.state is ClassicState.PREPARING_REBALANCE:
                key = classic_rebalance.join_key(group)
                timers.set_if_absent(key, now_ms + group.rebalance_timeout_ms)
            return
        group_id = group.group_id
        for consumer in group.members.values():
            timeout_ms = self.state.config.consumer_session_timeout_ms(group_id)
            key = consumer_timers.session_key(group_id, consumer.member_id)
            timers.set_if_absent(key, now_ms + timeout_ms)
            if consumer.state is MemberState.UNREVOKED_PARTITIONS and consumer.classic is None:
                key = consumer_timers.rebalance_key(group_id, consumer.member_id)
                timers.set_if_absent(key, now_ms + consumer.rebalance_timeout_ms, consumer.member_epoch)

    # what happens around

    def topics_changed(self, image: TopicsImage) -> Outcome:
        """The cluster has other topics: groups look at them again, offsets of deleted topics go."""
        out = Outcome()
        before, self.state.image = self.state.image, image
        old_ids, new_ids = set(before.ids()), set(image.ids())
        if new_ids - old_ids or not self.state.new_topics_version:
            self.state.new_topics_version = image.version
        changed = {
            topic.name
            for source, ids in ((before, old_ids - new_ids), (image, new_ids))
            for topic in (source.by_id(topic_id) for topic_id in ids)
            if topic is not None and before.named(topic.name) != image.named(topic.name)
        }
        if changed:
            for group in self.state.groups.values():
                if isinstance(group, ConsumerGroup) and not changed.isdisjoint(group.subscribed_topics()):
                    group.needs_refresh = True
        deleted = [topic for topic_id in old_ids - new_ids if (topic := before.by_id(topic_id)) is not None]
        if deleted:
            offset_expiry.topics_deleted(self.state, deleted, out)
        return self._finished(out)

    def on_timer(self, timer: Timer[TimerKey], now_ms: int) -> Outcome:
        """A wake-up. It may come late, or be stale; then nothing happens."""
        out = Outcome()
        epoch = self.state.timers.due(timer, now_ms)
        if epoch is not None:
            out.fired, out.fired_epoch = timer.key, epoch
            self._fire(timer.key, epoch, now_ms, out)
        return self._finished(out)

    def _fire(self, key: TimerKey, epoch: int, now_ms: int, out: Outcome) -> None:
        state = self.state
        match key.kind:
            case TimerKind.EXPIRY:
                state.timers.set(_EXPIRY, now_ms + state.config.offsets_retention_check_interval_ms)
                offset_expiry.expire(state, now_ms, out)
            case TimerKind.REGEX:
                regex_subscription.resolve(state, key.group_id, now_ms, out)
            case TimerKind.CLASSIC_SESSION | TimerKind.CLASSIC_JOIN | TimerKind.CLASSIC_SYNC:
                group = state.groups.get(key.group_id)
                if isinstance(group, ClassicGroup):
                    _fire_classic(state, group, key, epoch, now_ms, out)
            case _:
                consumer_leave.end_deadline(state, key, epoch, now_ms, out)

    def _finished(self, out: Outcome) -> Outcome:
        out.timers.extend(self.state.timers.drain())
        return out


def _fire_classic(
    state: CoordinatorState, group: ClassicGroup, key: TimerKey, epoch: int, now_ms: int, out: Outcome
) -> None:
    match key.kind:
        case TimerKind.CLASSIC_SESSION:
            classic_rebalance.end_session(state, group, key.member_id, now_ms, out)
        case TimerKind.CLASSIC_JOIN:
            classic_rebalance.end_join_phase(state, group, epoch, now_ms, out)
        case _:
            classic_rebalance.end_sync_phase(state, group, epoch, now_ms, out)


def _group_of(key: OffsetsKey) -> str:
    return key.group if isinstance(key, OffsetCommitKey | GroupMetadataKey) else key.group_id
