"""From plans of markers to the request that writes them, and from its response to what came of each plan.

Plans that come together go as one request, as Kafka's coordinator sends them: many transactions then share
their trips to the disk. Partitions that the cluster does not have any more are left out. A producer id
belongs to one transaction at a time, so that the rows of the response are told apart by it.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distributedlog.transactions import MarkerPlan, TopicPartition
from distributedlog.wire import ErrorCode
from distributedlog.wire.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker

logger = logging.getLogger("distributedlog.broker")

#: Writes markers and tells what came of it: `broker/marker_writing.py`.
MarkerWriter = Callable[["Broker", WriteTxnMarkersRequest, Callable[[WriteTxnMarkersResponse], None]], None]


@dataclass(slots=True)
class MarkerResults:
    """Of one plan: an error, or NONE, by partition, and the partitions that are not there any more."""

    errors: dict[TopicPartition, ErrorCode] = field(default_factory=dict)
    gone: set[TopicPartition] = field(default_factory=set)


Written = Callable[[MarkerResults], None]


class MarkerDispatch:
    """Of one broker, for all of its coordinators."""

    def __init__(self, broker: "Broker", write_markers: MarkerWriter) -> None:
        self._broker = broker
        self._write_markers = write_markers
        self._waiting: deque[tuple[MarkerPlan, Written]] = deque()

    def write(self, plan: MarkerPlan, done: Written) -> None:
        """Have a plan's markers written with those that others want now."""
        self._waiting.append((plan, done))
        if len(self._waiting) == 1:
            self._broker.scheduler.call_soon(self._send)

    def _send(self) -> None:
        waiting, self._waiting = list(self._waiting), deque()
        begun = [(plan, done, self._begun(plan)) for plan, done in waiting]
        markers = [_marker(plan, result) for plan, _, result in begun]
        request = WriteTxnMarkersRequest(markers=[marker for marker in markers if marker.topics])

        def written(response: WriteTxnMarkersResponse) -> None:
            by_producer = {each.producer_id: each for each in response.markers}
            for plan, done, result in begun:
                answer = by_producer.get(plan.producer_id)
                if answer is not None:
                    _take_in(answer, result)
                _log_failures(plan, result.errors)
                try:
                    done(result)
                except Exception:
                    logger.exception("a transaction's coordinator failed on the result of its markers")

        if not request.markers:
            written(WriteTxnMarkersResponse())
            return
        try:
            self._write_markers(self._broker, request, written)
        except Exception:
            logger.exception("markers of transactions were not written")
            written(WriteTxnMarkersResponse())

    def _begun(self, plan: MarkerPlan) -> MarkerResults:
        topics = self._broker.image.topics_by_name
        result = MarkerResults()
        for each in plan.partitions:
            topic = topics.get(each.topic)
            if topic is None or each.partition >= len(topic.partitions):
                result.gone.add(each)
        return result


def _marker(plan: MarkerPlan, result: MarkerResults) -> WritableTxnMarker:
    topics: dict[str, WritableTxnMarkerTopic] = {}
    for topic, index in sorted(plan.partitions - result.gone):
        topics.setdefault(topic, WritableTxnMarkerTopic(topic)).partition_indexes.append(index)
    return WritableTxnMarker(
        plan.producer_id,
        plan.producer_epoch,
        plan.is_commit,
        list(topics.values()),
        plan.coordinator_epoch,
        plan.transaction_version,
    )


def _take_in(answer: WritableTxnMarkerResult, result: MarkerResults) -> None:
    for topic in answer.topics:
        for each in topic.partitions:
            result.errors[TopicPartition(topic.name, each.partition_index)] = ErrorCode.of(each.error_code)


def _log_failures(plan: MarkerPlan, errors: Mapping[TopicPartition, ErrorCode]) -> None:
    for (topic, index), error in errors.items():
        if error is not ErrorCode.NONE:
            logger.warning(
                "the marker of transaction %r in %s-%d could not be written: %s",
                plan.transactional_id[:200],
                topic,
                index,
                error.name,
            )
