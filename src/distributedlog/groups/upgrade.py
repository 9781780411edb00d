"""From a classic group to a consumer group: when the first member of the new protocol comes."""

from distributedlog.groups import records
from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.groups.classic_member import ClassicMember
from distributedlog.groups.classic_rebalance import answer_join, answer_sync, join_key, session_key, sync_key
from distributedlog.groups.consumer_classic_protocol import decode_owned_topics
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import ConsumerMember
from distributedlog.groups.consumer_timers import renew_session
from distributedlog.groups.errors import GroupError
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.state import CoordinatorState
from distributedlog.groups.topics import metadata_hash
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.errors import ProtocolError
from distributedlog.wire.k11_join_group import JoinGroupResponse
from distributedlog.wire.k14_sync_group import SyncGroupResponse
from distributedlog.wire.values import decode_assignment, decode_subscription
from distributedlog.wire.values.consumer_group_records import ClassicMemberMetadata, ClassicProtocol


def upgrade_to_consumer(state: CoordinatorState, classic: ClassicGroup, out: Outcome) -> ConsumerGroup:
    """Turn a classic group with members into a consumer group, which replay will put in its place.

    The members keep their assignments, as a target that all have reached, in an epoch that is their
    generation.
    """
    _check(state, classic)
    group = ConsumerGroup(classic.group_id)
    group.epoch = classic.generation
    group.assignment_epoch = classic.generation
    try:
        members = [_consumer_member(state, classic, member) for member in classic.members.values()]
    except ProtocolError as error:
        raise _refusal(classic, "the embedded consumer protocol is malformed") from error
    for member in members:
        group.put_member(member)
        group.target[member.member_id] = {
            topic: frozenset(partitions) for topic, partitions in member.assigned.items()
        }
    group.metadata_hash = metadata_hash(group.subscribed_topics(), state.image)
    _write(group, out)
    return group


def settle_upgrade(state: CoordinatorState, classic: ClassicGroup, now_ms: int, out: Outcome) -> None:
    """Nothing speaks against the upgrade: who waits for a join or a sync is sent to join once more."""
    error_code = ErrorCode.REBALANCE_IN_PROGRESS
    for waiting in classic.members.values():
        answer_join(
            classic, waiting, JoinGroupResponse(error_code=error_code, member_id=waiting.member_id), out
        )
        answer_sync(waiting, SyncGroupResponse(error_code=error_code), out)
        state.timers.cancel(session_key(classic, waiting.member_id))
        renew_session(state, classic.group_id, waiting.member_id, now_ms, waiting.session_timeout_ms)
    for member_id in classic.pending_joins:
        state.timers.cancel(session_key(classic, member_id))
    state.timers.cancel(join_key(classic))
    state.timers.cancel(sync_key(classic))


def _check(state: CoordinatorState, classic: ClassicGroup) -> None:
    if not state.config.group_consumer_migration_policy.upgrades:
        raise _refusal(classic, "online upgrade is disabled")
    if not classic.uses_consumer_protocol:
        raise _refusal(classic, "the group does not use the consumer embedded protocol")
    if len(classic.members) > state.config.group_consumer_max_size:
        raise _refusal(classic, "the group size exceeds the consumer group maximum size")


def _refusal(classic: ClassicGroup, reason: str) -> GroupError:
    return GroupError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {classic.group_id} to consumer group because {reason}.",
    )


def _consumer_member(state: CoordinatorState, classic: ClassicGroup, member: ClassicMember) -> ConsumerMember:
    # In the first join phase there is no protocol chosen yet; consumers say the same in each.
    metadata = member.protocols.get(classic.protocol or "")
    if metadata is None:
        metadata = next(iter(member.protocols.values()))
    subscription = decode_subscription(metadata)
    assigned: dict[bytes, dict[int, int]] = {}
    if member.assignment:
        assignment = decode_assignment(member.assignment)
        if assignment.user_data:
            raise _refusal(classic, "an unsupported custom assignor is in use")
        assigned = decode_owned_topics(assignment.assigned_partitions, classic.generation, state.image)
    return ConsumerMember(
        member_id=member.member_id,
        member_epoch=classic.generation,
        previous_member_epoch=classic.generation,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=frozenset(subscription.topics),
        assigned=assigned,
        classic=ClassicMemberMetadata(
            member.session_timeout_ms,
            [ClassicProtocol(name, offered) for name, offered in member.protocols.items()],
        ),
    )


def _write(group: ConsumerGroup, out: Outcome) -> None:
    group_id = group.group_id
    changes = out.changes
    changes.append(records.classic_group_tombstone(group_id))
    changes.extend(records.member_subscription(group_id, member) for member in group.members.values())
    changes.append(records.consumer_group_epoch(group_id, group.epoch, group.metadata_hash))
    changes.extend(records.target_assignment(group_id, *target) for target in group.target.items())
    changes.append(records.target_assignment_epoch(group_id, group.epoch, group.assignment_timestamp_ms))
    changes.extend(records.current_assignment(group_id, member) for member in group.members.values())
