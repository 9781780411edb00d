"""OffsetFetch, for one group (up to version 7) or many."""

from collections.abc import Iterable

from distributedlog.coordination import Context
from distributedlog.groups.errors import GroupError
from distributedlog.groups.offset_store import CommittedOffset
from distributedlog.groups.offset_validation import validate_fetch
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseGroupPartition,
    OffsetFetchResponseGroupTopic,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from distributedlog.wire.schema import ZERO_UUID

GROUP_ERROR_VERSION = 2
MANY_GROUPS_VERSION = 8
TOPIC_ID_VERSION = 10

_NO_OFFSET = CommittedOffset(-1)


def offset_fetch(
    state: CoordinatorState, context: Context, request: OffsetFetchRequest, out: Outcome
) -> None:
    """Handle an OffsetFetch. It writes nothing."""
    version = context.api_version
    if version >= MANY_GROUPS_VERSION:
        groups = [fetch_group(state, group, request.require_stable, version) for group in request.groups]
        out.reply(context, OffsetFetchResponse(groups=groups))
        return
    topics = request.topics
    asked = OffsetFetchRequestGroup(
        request.group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequestGroupTopic(topic.name, ZERO_UUID, topic.partition_indexes) for topic in topics
        ],
    )
    answer = fetch_group(state, asked, request.require_stable, version)
    out.reply(context, _as_one_group(answer, asked, version))


def fetch_group(
    state: CoordinatorState, asked: OffsetFetchRequestGroup, require_stable: bool, version: int
) -> OffsetFetchResponseGroup:
    """The offsets of one group: those asked for, or all where no topics are named."""
    by_id = version >= TOPIC_ID_VERSION
    answer = OffsetFetchResponseGroup(asked.group_id)
    group = state.groups.get(asked.group_id)
    if group is not None:
        try:
            validate_fetch(group, asked.member_id, asked.member_epoch)
        except GroupError as error:
            answer.error_code = error.code
            return answer
    if asked.topics is None:
        answer.topics = list(_all_topics(state, asked.group_id, require_stable, by_id))
    else:
        answer.topics = [
            _topic(state, asked.group_id, topic, require_stable, by_id) for topic in asked.topics
        ]
    return answer


def _all_topics(
    state: CoordinatorState, group_id: str, require_stable: bool, by_id: bool
) -> Iterable[OffsetFetchResponseGroupTopic]:
    for name, partitions in state.offsets.of_group(group_id).items():
        topic_id = state.image.id_of(name)
        if by_id and topic_id == ZERO_UUID:
            continue
        held = [
            _partition(state, group_id, name, topic_id, index, require_stable)
            for index, offset in partitions.items()
            if not _is_of_other_topic(offset, topic_id)
        ]
        if held:
            yield OffsetFetchResponseGroupTopic(name, topic_id, held)


def _topic(
    state: CoordinatorState,
    group_id: str,
    topic: OffsetFetchRequestGroupTopic,
    require_stable: bool,
    by_id: bool,
) -> OffsetFetchResponseGroupTopic:
    name, topic_id = topic.name, topic.topic_id
    if by_id:
        known = state.image.by_id(topic_id)
        if known is None:
            unknown = [_answer(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in topic.partition_indexes]
            return OffsetFetchResponseGroupTopic(name, topic_id, unknown)
        name = known.name
    else:
        topic_id = state.image.id_of(name)
    return OffsetFetchResponseGroupTopic(
        name,
        topic_id,
        [
            _partition(state, group_id, name, topic_id, index, require_stable)
            for index in topic.partition_indexes
        ],
    )


def _partition(
    state: CoordinatorState, group_id: str, name: str, topic_id: bytes, index: int, require_stable: bool
) -> OffsetFetchResponseGroupPartition:
    if require_stable and state.offsets.is_pending(group_id, name, index):
        return _answer(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    offset = state.offsets.get(group_id, name, index)
    if offset is None or _is_of_other_topic(offset, topic_id):
        return _answer(index)
    return _answer(index, ErrorCode.NONE, offset)


def _is_of_other_topic(offset: CommittedOffset, topic_id: bytes) -> bool:
    """Whether the offset was committed to a topic of the same name that has been deleted since."""
    return ZERO_UUID not in (offset.topic_id, topic_id) and offset.topic_id != topic_id


def _answer(
    index: int, error: ErrorCode = ErrorCode.NONE, offset: CommittedOffset = _NO_OFFSET
) -> OffsetFetchResponseGroupPartition:
    return OffsetFetchResponseGroupPartition(
        index, offset.offset, offset.leader_epoch, offset.metadata, error
    )


def _as_one_group(
    answer: OffsetFetchResponseGroup, asked: OffsetFetchRequestGroup, version: int
) -> OffsetFetchResponse:
    """The same in the shape of versions 1 to 7; version 1 has room for errors at partitions only."""
    if answer.error_code and version < GROUP_ERROR_VERSION:
        return OffsetFetchResponse(
            topics=[
                OffsetFetchResponseTopic(
                    topic.name,
                    [
                        OffsetFetchResponsePartition(i, -1, -1, "", answer.error_code)
                        for i in topic.partition_indexes
                    ],
                )
                for topic in asked.topics or ()
            ]
        )
    return OffsetFetchResponse(
        error_code=answer.error_code,
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(
                        p.partition_index,
                        p.committed_offset,
                        p.committed_leader_epoch,
                        p.metadata,
                        p.error_code,
                    )
                    for p in topic.partitions
                ],
            )
            for topic in answer.topics
        ],
    )
