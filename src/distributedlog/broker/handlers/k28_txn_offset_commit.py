"""TxnOffsetCommit: positions of a group that hold when the transaction commits."""

from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.partition_verification import ClientAbility
from distributedlog.broker.pending import Pending
from distributedlog.wire import ErrorCode
from distributedlog.wire.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

KNOWS_ABORTABLE_VERSION_MIN: Final = 4
LEAVES_ADDING_VERSION_MIN: Final = 5


def handle(broker: "Broker", context: "RequestContext", request: TxnOffsetCommitRequest) -> Any:
    """Partitions that are not there are answered here. Where there is no other, no coordinator is asked, and
    the offsets' partition does not join the transaction."""
    answers = [_answer(broker, topic) for topic in request.topics]
    known = [_known(topic, answer) for topic, answer in zip(request.topics, answers, strict=True)]
    asked = [topic for topic in known if topic.partitions]
    if not asked:
        return TxnOffsetCommitResponse(0, answers)
    request.topics = asked

    def refuse(error: ErrorCode) -> TxnOffsetCommitResponse:
        return TxnOffsetCommitResponse(0, [_refused(topic, error) for topic in asked])

    ability = ClientAbility(
        knows_abortable=context.version >= KNOWS_ABORTABLE_VERSION_MIN,
        leaves_adding=context.version >= LEAVES_ADDING_VERSION_MIN,
    )
    answer = broker.groups.commit_in_transaction(context, request, ability, refuse)
    if not isinstance(answer, Pending):
        return _filled(answers, answer)
    pending = Pending()
    answer.when_done(lambda response: pending.complete(_filled(answers, response)))
    return pending


def _answer(broker: "Broker", topic: TxnOffsetCommitRequestTopic) -> TxnOffsetCommitResponseTopic:
    known = broker.image.topics_by_name.get(topic.name)
    count = 0 if known is None else len(known.partitions)
    return TxnOffsetCommitResponseTopic(
        topic.name,
        [
            TxnOffsetCommitResponsePartition(
                each.partition_index,
                ErrorCode.NONE if 0 <= each.partition_index < count else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            )
            for each in topic.partitions
        ],
    )


def _known(
    topic: TxnOffsetCommitRequestTopic, answer: TxnOffsetCommitResponseTopic
) -> TxnOffsetCommitRequestTopic:
    rows = zip(topic.partitions, answer.partitions, strict=True)
    return TxnOffsetCommitRequestTopic(topic.name, [each for each, row in rows if not row.error_code])


def _refused(topic: TxnOffsetCommitRequestTopic, error: ErrorCode) -> TxnOffsetCommitResponseTopic:
    rows = [TxnOffsetCommitResponsePartition(each.partition_index, error) for each in topic.partitions]
    return TxnOffsetCommitResponseTopic(topic.name, rows)


def _filled(
    answers: list[TxnOffsetCommitResponseTopic], response: TxnOffsetCommitResponse
) -> TxnOffsetCommitResponse:
    """The coordinator's rows, in order, in the places of those that were known."""
    rows = (row for topic in response.topics for row in topic.partitions)
    for answer in answers:
        for row in answer.partitions:
            if not row.error_code:
                row.error_code = next(rows).error_code
    return TxnOffsetCommitResponse(response.throttle_time_ms, answers)
