"""OffsetCommit, TxnOffsetCommit and OffsetDelete: positions in, and positions away."""

from collections.abc import Iterable

from distributedlog.coordination import Context
from distributedlog.groups import records
from distributedlog.groups.classic_group import ClassicGroup, ClassicState
from distributedlog.groups.classic_rebalance import renew_session
from distributedlog.groups.errors import GroupError
from distributedlog.groups.offset_store import CommittedOffset
from distributedlog.groups.offset_validation import CommitFence, validate_commit
from distributedlog.groups.outcome import Change, Outcome, Transaction
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from distributedlog.wire.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from distributedlog.wire.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

MEMBER_EPOCH_VERSION = 9
TOPIC_ID_VERSION = 10
TIMESTAMP_MAX = 2**63 - 1


def offset_commit(
    state: CoordinatorState, context: Context, request: OffsetCommitRequest, out: Outcome
) -> None:
    """Handle an OffsetCommit. What one partition does wrong does not harm the others."""
    by_id = context.api_version >= TOPIC_ID_VERSION
    expire_ms = -1
    if request.retention_time_ms != -1:
        expire_ms = min(context.now_ms + request.retention_time_ms, TIMESTAMP_MAX)
    try:
        fence = _validate(state, context, request)
    except GroupError as error:
        out.reply(context, _refused(request.topics, error.code))
        return
    changes: list[Change] = []
    response = OffsetCommitResponse()
    for topic in request.topics:
        known = state.image.by_id(topic.topic_id) if by_id else state.image.named(topic.name)
        if known is None:
            unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            response.topics.append(_refused_topic(topic, unknown))
            continue
        answer = OffsetCommitResponseTopic(topic.name, topic.topic_id)
        response.topics.append(answer)
        for partition in topic.partitions:
            index = partition.partition_index
            refusal = fence(known.topic_id, index)
            if refusal is not ErrorCode.NONE:
                # A member that commits what it does not own any more is behind as a whole.
                out.reply(context, _refused(request.topics, refusal))
                return
            error_code = _check(state, partition)
            answer.partitions.append(OffsetCommitResponsePartition(index, error_code))
            if error_code is ErrorCode.NONE:
                value = _committed(partition, context.now_ms, expire_ms, known.topic_id)
                changes.append(records.offset_commit(request.group_id, known.name, index, value))
    out.changes.extend(changes)
    out.reply(context, response)


def _validate(state: CoordinatorState, context: Context, request: OffsetCommitRequest) -> CommitFence:
    group = state.groups.get(request.group_id)
    generation = request.generation_id_or_member_epoch
    if group is None:
        if generation < 0:
            # Nobody manages this group: it comes to be with its first offset.
            return CommitFence()
        raise GroupError(
            ErrorCode.GROUP_ID_NOT_FOUND
            if context.api_version >= MEMBER_EPOCH_VERSION
            else ErrorCode.ILLEGAL_GENERATION
        )
    fence = validate_commit(
        group,
        request.member_id,
        request.group_instance_id,
        generation,
        is_transactional=False,
        knows_epochs=context.api_version >= MEMBER_EPOCH_VERSION,
    )
    if isinstance(group, ClassicGroup) and group.state in (
        ClassicState.STABLE,
        ClassicState.PREPARING_REBALANCE,
    ):
        member = group.members.get(request.member_id)
        if member is not None:
            renew_session(state, group, member, context.now_ms)
    return fence


def _check(
    state: CoordinatorState, partition: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition
) -> ErrorCode:
    metadata = partition.committed_metadata
    if metadata is not None and len(metadata) > state.config.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def _committed(
    partition: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
    now_ms: int,
    expire_ms: int,
    topic_id: bytes,
) -> CommittedOffset:
    return CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=now_ms,
        expire_timestamp_ms=expire_ms,
        topic_id=topic_id,
    )


def _refused(topics: Iterable[OffsetCommitRequestTopic], error: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[_refused_topic(topic, error) for topic in topics])


def _refused_topic(topic: OffsetCommitRequestTopic, error: ErrorCode) -> OffsetCommitResponseTopic:
    partitions = [OffsetCommitResponsePartition(p.partition_index, error) for p in topic.partitions]
    return OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions)


def txn_offset_commit(
    state: CoordinatorState, context: Context, request: TxnOffsetCommitRequest, out: Outcome
) -> None:
    """Handle a TxnOffsetCommit: the records are pending until the transaction's marker is replayed."""
    try:
        if not request.group_id:
            raise GroupError(ErrorCode.INVALID_GROUP_ID)
        fence = _validate_txn(state, request)
        response, changes = _commit_in_transaction(state, context, request, fence)
    except GroupError as error:
        out.reply(context, _refused_txn(request, error.code))
        return
    out.changes.extend(changes)
    out.transaction = Transaction(request.transactional_id, request.producer_id, request.producer_epoch)
    out.reply(context, response)


def _validate_txn(state: CoordinatorState, request: TxnOffsetCommitRequest) -> CommitFence:
    group = state.groups.get(request.group_id)
    if group is None:
        if request.generation_id < 0:
            return CommitFence()
        raise GroupError(ErrorCode.ILLEGAL_GENERATION)
    try:
        return validate_commit(
            group,
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            is_transactional=True,
            knows_epochs=True,
        )
    except GroupError as error:
        if error.code is ErrorCode.STALE_MEMBER_EPOCH:
            raise GroupError(ErrorCode.ILLEGAL_GENERATION, error.message) from error
        raise


def _commit_in_transaction(
    state: CoordinatorState, context: Context, request: TxnOffsetCommitRequest, fence: CommitFence
) -> tuple[TxnOffsetCommitResponse, list[Change]]:
    changes: list[Change] = []
    response = TxnOffsetCommitResponse()
    for topic in request.topics:
        answer = TxnOffsetCommitResponseTopic(topic.name)
        response.topics.append(answer)
        known = state.image.named(topic.name)
        for partition in topic.partitions:
            index = partition.partition_index
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if known is None else _check(state, partition)
            answer.partitions.append(TxnOffsetCommitResponsePartition(index, error))
            if known is None:
                continue
            refusal = fence(known.topic_id, index)
            if refusal is not ErrorCode.NONE:
                raise GroupError(ErrorCode.ILLEGAL_GENERATION)
            if error is ErrorCode.NONE:
                value = _committed(partition, context.now_ms, -1, known.topic_id)
                changes.append(records.offset_commit(request.group_id, topic.name, index, value))
    return response, changes


def _refused_txn(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                [TxnOffsetCommitResponsePartition(p.partition_index, error) for p in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def offset_delete(
    state: CoordinatorState, context: Context, request: OffsetDeleteRequest, out: Outcome
) -> None:
    """Handle an OffsetDelete: not for topics that the group reads (KIP-496)."""
    try:
        if not request.group_id:
            raise GroupError(ErrorCode.INVALID_GROUP_ID)
        group = state.group(request.group_id)
        if isinstance(group, ClassicGroup) and not group.is_empty and not group.uses_consumer_protocol:
            raise GroupError(ErrorCode.NON_EMPTY_GROUP)
    except GroupError as error:
        out.reply(context, OffsetDeleteResponse(error_code=error.code))
        return
    response = OffsetDeleteResponse()
    for topic in request.topics:
        is_read = group.is_subscribed_to(topic.name)
        error_code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_read else ErrorCode.NONE
        answer = OffsetDeleteResponseTopic(topic.name)
        response.topics.append(answer)
        for partition in topic.partitions:
            index = partition.partition_index
            answer.partitions.append(OffsetDeleteResponsePartition(index, error_code))
            offsets = state.offsets
            if not is_read and (
                offsets.get(request.group_id, topic.name, index) is not None
                or offsets.is_pending(request.group_id, topic.name, index)
            ):
                out.changes.append(records.offset_tombstone(request.group_id, topic.name, index))
    out.reply(context, response)
