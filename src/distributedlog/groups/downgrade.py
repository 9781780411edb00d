"""From a consumer group to a classic one: when the last member of the new protocol has gone."""

from collections.abc import Collection, Mapping

from distributedlog.groups import records
from distributedlog.groups.classic_group import ClassicGroup, ClassicState
from distributedlog.groups.classic_member import ClassicMember
from distributedlog.groups.classic_rebalance import prepare_rebalance, renew_session
from distributedlog.groups.consumer_classic_protocol import encode_member_assignment
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import ConsumerMember
from distributedlog.groups.consumer_timers import cancel_all
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.values.consumer_protocol import CONSUMER_PROTOCOL_TYPE


def can_downgrade(state: CoordinatorState, group: ConsumerGroup, going: Collection[str]) -> bool:
    """Whether the group becomes a classic one when these members go."""
    size = len(group.members) - len(going)
    return (
        0 < size <= state.config.group_max_size
        and state.config.group_consumer_migration_policy.downgrades
        and group.all_classic_without(going)
    )


def downgrade_to_classic(
    state: CoordinatorState,
    group: ConsumerGroup,
    going: Collection[str],
    joining: ConsumerMember | None,
    rebalances: bool,
    now_ms: int,
    out: Outcome,
) -> ClassicGroup:
    """Write the end of the one group and the beginning of the other, and stage the latter.

    ``joining`` is a static member that has taken the place of one of those going. The generation is the
    group's epoch, so that a member which knows its epoch knows its generation.
    """
    group_id = group.group_id
    staying = group.members_with([] if joining is None else [joining], going)
    # Who joins has been written already; its records end like those of the rest.
    out.changes.extend(
        records.consumer_group_tombstones(group_id, {**group.members, **staying}, group.resolved_regexes)
    )
    classic = ClassicGroup(group_id, now_ms)
    classic.state = ClassicState.STABLE
    classic.generation = group.epoch
    for member in staying.values():
        classic.add(_classic_member(member))
    classic.protocol = classic.select_protocol()
    classic.subscribed_topics = classic.compute_subscribed_topics()
    _hand_over_targets(state, group, staying, classic)
    out.changes.append(
        records.classic_group(
            classic,
            list(classic.members.values()),
            {member.member_id: member.assignment for member in classic.members.values()},
        )
    )
    state.staged[group_id] = classic
    for member_id in {**group.members, **staying}:
        cancel_all(state, group_id, member_id)
    for classic_member in classic.members.values():
        renew_session(state, classic, classic_member, now_ms)
    if rebalances:
        prepare_rebalance(state, classic, now_ms, out)
    return classic


def _classic_member(member: ConsumerMember) -> ClassicMember:
    metadata = member.classic
    assert metadata is not None, "only classic members remain in a group that is downgraded"
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=metadata.session_timeout_ms,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocols={protocol.name: protocol.metadata for protocol in metadata.supported_protocols},
    )


def _hand_over_targets(
    state: CoordinatorState,
    group: ConsumerGroup,
    staying: Mapping[str, ConsumerMember],
    classic: ClassicGroup,
) -> None:
    for member_id, member in classic.members.items():
        target = group.target_of(member_id, staying[member_id].instance_id)
        metadata = member.protocols.get(classic.protocol or "", b"")
        member.assignment = encode_member_assignment(target, metadata, state.image)
