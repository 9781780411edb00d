"""Offsets that nobody needs any more: expired ones, and those of deleted topics."""

from collections.abc import Iterable

from distributedlog.groups import records
from distributedlog.groups.classic_group import ClassicGroup, ClassicState
from distributedlog.groups.offset_store import CommittedOffset, GroupOffsets
from distributedlog.groups.outcome import Change, Outcome
from distributedlog.groups.state import CoordinatorState, Group
from distributedlog.groups.topics import Topic
from distributedlog.wire.schema import ZERO_UUID


def expire(state: CoordinatorState, now_ms: int, out: Outcome) -> None:
    """Remove what has been kept for ``offsets.retention.minutes``, and empty groups left without any."""
    for group in state.groups.values():
        tombstones, nothing_left = _expired(state, group, now_ms)
        out.changes.extend(tombstones)
        if nothing_left and group.is_empty:
            out.changes.extend(group_tombstones(group))


def _expired(state: CoordinatorState, group: Group, now_ms: int) -> tuple[list[Change], bool]:
    """The tombstones due, and whether the group keeps nothing after them."""
    group_id = group.group_id
    nothing_left = not state.offsets.has_open_transactions(group_id)
    if isinstance(group, ClassicGroup) and group.pending_joins:
        nothing_left = False
    offsets = state.offsets.of_group(group_id)
    if not offsets:
        return [], nothing_left
    if not _may_expire(group):
        return [], False
    tombstones: list[Change] = []
    for topic, partitions in offsets.items():
        if group.is_subscribed_to(topic):
            nothing_left = False
            continue
        for partition, offset in partitions.items():
            if _is_expired(state, group, offset, now_ms) and not state.offsets.is_pending(
                group_id, topic, partition
            ):
                tombstones.append(records.offset_tombstone(group_id, topic, partition))
            else:
                nothing_left = False
    return tombstones, nothing_left


def _may_expire(group: Group) -> bool:
    """While a classic group is in motion, or cannot be understood, nobody knows what it reads."""
    if not isinstance(group, ClassicGroup) or group.protocol_type is None or group.is_empty:
        return True
    return (
        group.uses_consumer_protocol
        and group.subscribed_topics is not None
        and group.state is ClassicState.STABLE
    )


def _is_expired(state: CoordinatorState, group: Group, offset: CommittedOffset, now_ms: int) -> bool:
    """From when the group became empty; from the commit, where there are members or never were any."""
    if offset.expire_timestamp_ms != -1:
        return now_ms >= offset.expire_timestamp_ms
    since_ms = offset.commit_timestamp_ms
    if (
        isinstance(group, ClassicGroup)
        and group.protocol_type is not None
        and group.is_empty
        and group.state_timestamp_ms != -1
    ):
        since_ms = group.state_timestamp_ms
    return now_ms - since_ms >= state.config.offsets_retention_ms


def group_tombstones(group: Group) -> list[Change]:
    """The records that end an empty group of either protocol."""
    if isinstance(group, ClassicGroup):
        return [records.classic_group_tombstone(group.group_id)]
    return group.tombstones()


def all_offset_tombstones(state: CoordinatorState, group_id: str) -> list[Change]:
    """The end of all offsets of a group, of open transactions too."""
    doomed = {
        (topic, partition)
        for topic, partitions in state.offsets.of_group(group_id).items()
        for partition in partitions
    }
    doomed.update(state.offsets.pending_partitions(group_id))
    return [records.offset_tombstone(group_id, topic, partition) for topic, partition in sorted(doomed)]


def topics_deleted(state: CoordinatorState, deleted: Iterable[Topic], out: Outcome) -> None:
    """The end of the offsets of topics that were deleted; not of a new topic's of the same name."""
    ids = {topic.name: topic.topic_id for topic in deleted}
    doomed: set[tuple[str, str, int]] = set()
    for groups in (state.offsets.committed, *state.offsets.pending.values()):
        for group_id, topics in groups.items():
            doomed.update((group_id, topic, partition) for topic, partition in _of_deleted(topics, ids))
    out.changes.extend(records.offset_tombstone(*partition) for partition in sorted(doomed))


def _of_deleted(topics: GroupOffsets, ids: dict[str, bytes]) -> Iterable[tuple[str, int]]:
    for topic in ids.keys() & topics.keys():
        for partition, offset in topics[topic].items():
            if offset.topic_id in (ZERO_UUID, ids[topic]):
                yield topic, partition
