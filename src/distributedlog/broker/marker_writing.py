"""Markers of transactions, written to their partitions and told of when they are durable.

A marker in ``__consumer_offsets`` also ends what is pending in that partition's group coordinator. It must
not pass one by that is still reading its log, so a coordinator that is not ready refuses the marker, in
words on which whoever sent it tries again.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from distributedlog.broker.log_errors import code_of
from distributedlog.cluster.image import CONSUMER_OFFSETS_TOPIC
from distributedlog.log import AppendOrigin
from distributedlog.log.errors import LogError
from distributedlog.records import ControlType, build_control_batch
from distributedlog.wire import ErrorCode
from distributedlog.wire.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.partition import Partition

WrittenCallback = Callable[[WriteTxnMarkersResponse], None]


def write_markers(broker: "Broker", request: WriteTxnMarkersRequest, done: WrittenCallback) -> None:
    """Append the markers; what went wrong in one partition does not harm the others."""
    writing = _Writing(broker, done)
    for marker in request.markers:
        row = WritableTxnMarkerResult(marker.producer_id)
        writing.response.markers.append(row)
        for topic in marker.topics:
            results = [WritableTxnMarkerPartitionResult(index, 0) for index in topic.partition_indexes]
            row.topics.append(WritableTxnMarkerTopicResult(topic.name, results))
            for result in results:
                writing.write(marker, topic.name, result)
    writing.one_is_there()


class _Writing:
    """The markers of one request, on their way to the disk."""

    __slots__ = ("_broker", "_done", "_missing", "_now_ms", "response")

    def __init__(self, broker: "Broker", done: WrittenCallback) -> None:
        self.response = WriteTxnMarkersResponse()
        self._broker = broker
        self._done = done
        self._now_ms = broker.scheduler.now_ms()
        #: Markers that are not durable yet, and one for the request that is not read to its end.
        self._missing = 1

    def write(self, marker: WritableTxnMarker, topic: str, result: WritableTxnMarkerPartitionResult) -> None:
        index = result.partition_index
        partition = self._broker.partitions.get(topic, index)
        if partition is None:
            result.error_code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return
        holds_offsets = topic == CONSUMER_OFFSETS_TOPIC
        if holds_offsets and not self._broker.groups.is_ready(index):
            result.error_code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        try:
            self._append(partition, marker)
        except Exception as error:  # noqa: BLE001 - told in the partition's row
            result.error_code = int(code_of(error))
            return
        if holds_offsets:
            self._broker.groups.end_transaction(index, marker.producer_id, marker.transaction_result)
        if not partition.is_safe(partition.log.log_end_offset):
            self._wait_for(partition, result)

    def _append(self, partition: "Partition", marker: WritableTxnMarker) -> None:
        batch = build_control_batch(
            ControlType.COMMIT if marker.transaction_result else ControlType.ABORT,
            self._now_ms,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
        )
        partition.append(
            batch,
            now_ms=self._now_ms,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=marker.transaction_version,
        )

    def _wait_for(self, partition: "Partition", result: WritableTxnMarkerPartitionResult) -> None:
        self._missing += 1

        def safe(error: LogError | None) -> None:
            if error is not None:
                result.error_code = int(code_of(error))
            self.one_is_there()

        partition.wait_until_safe(safe)

    def one_is_there(self) -> None:
        """A marker has come to its end, or the request has been read to its end."""
        self._missing -= 1
        if not self._missing:
            self._done(self.response)
