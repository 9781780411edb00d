"""Markers of transactions, written to their partitions."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from distributedlog.broker.log_errors import code_of
from distributedlog.log import AppendOrigin
from distributedlog.log.errors import LogError
from distributedlog.records import ControlType, build_control_batch
from distributedlog.wire import ErrorCode
from distributedlog.wire.k27_write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker


def write_markers(
    broker: "Broker", request: WriteTxnMarkersRequest, done: Callable[[WriteTxnMarkersResponse], None]
) -> None:
    """Append the markers and tell of them when they are durable."""
    response = WriteTxnMarkersResponse()
    missing = 1

    def one_is_there() -> None:
        nonlocal missing
        missing -= 1
        if not missing:
            done(response)

    for marker in request.markers:
        row = WritableTxnMarkerResult(marker.producer_id)
        response.markers.append(row)
        for topic in marker.topics:
            topic_row = WritableTxnMarkerTopicResult(topic.name)
            row.topics.append(topic_row)
            for index in topic.partition_indexes:
                result = WritableTxnMarkerPartitionResult(index, 0)
                topic_row.partitions.append(result)
                partition = broker.partitions.get(topic.name, index)
                if partition is None:
                    result.error_code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                    continue
                kind = ControlType.COMMIT if marker.transaction_result else ControlType.ABORT
                now_ms = broker.scheduler.now_ms()
                batch = build_control_batch(
                    kind,
                    now_ms,
                    producer_id=marker.producer_id,
                    producer_epoch=marker.producer_epoch,
                    coordinator_epoch=marker.coordinator_epoch,
                )
                try:
                    partition.append(batch, now_ms=now_ms, origin=AppendOrigin.COORDINATOR)
                except Exception as error:  # noqa: BLE001
                    result.error_code = int(code_of(error))
                    continue
                if partition.is_safe(partition.log.log_end_offset):
                    continue
                missing += 1

                def safe(error: LogError | None, result: WritableTxnMarkerPartitionResult = result) -> None:
                    if error is not None:
                        result.error_code = int(code_of(error))
                    one_is_there()

                partition.wait_until_safe(safe)
    one_is_there()
