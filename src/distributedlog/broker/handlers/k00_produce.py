"""Produce: append one batch to each of some partitions.

Every partition has its own answer; what is wrong with one does not touch the others. The response leaves
when all that was appended is as safe as the topics' flush policies say, or with acks=0 never: then the only
way to tell of an error is to close the connection.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.log_errors import code_of
from distributedlog.broker.pending import CLOSE_CONNECTION, Pending
from distributedlog.broker.recompression import RefusedRecords, find_ill_timed
from distributedlog.cluster.image import INTERNAL_TOPICS
from distributedlog.log import AppendResult
from distributedlog.log.errors import (
    InvalidRecord,
    InvalidTimestamp,
    LogError,
    ProducerError,
    RecordTooLarge,
)
from distributedlog.records import CorruptBatchError
from distributedlog.wire import ErrorCode
from distributedlog.wire.k00_produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext
    from distributedlog.broker.partition import Partition

ACKS_ALL: Final = -1
ACKS_NONE: Final = 0
TOPIC_ID_VERSION_MIN: Final = 13
ZSTD_VERSION_MIN: Final = 7
#: Kafka lets its own admin client, known by this id, write to internal topics.
ADMIN_CLIENT_ID: Final = "__admin_client"
#: Of a partition on a single node, which is its leader.
IN_SYNC_REPLICAS: Final = 1

_NONE: Final = -1
_NO_LEADER: Final = LeaderIdAndEpoch()
_MAGIC: Final = 16
_ATTRIBUTES_LOW_BYTE: Final = 22
_COMPRESSION_MASK: Final = 0x07
_ZSTD: Final = 4
_TRANSACTIONAL_BIT: Final = 0x10

logger = logging.getLogger("distributedlog.broker")


def handle(broker: "Broker", context: "RequestContext", request: ProduceRequest) -> Any:
    """The response, a `Pending` of it, or None for acks=0."""
    work = _Produce(broker, context, request)
    response = work.response
    for topic in request.topic_data:
        rows: list[PartitionProduceResponse] = []
        response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, rows))
        for data in topic.partition_data:
            row = PartitionProduceResponse(data.index, 0, _NONE, _NONE, _NONE, [], None, _NO_LEADER)
            rows.append(row)
            work.append(topic, data, row)
    return work.result()


class _Produce:
    """One produce request on its way: the rows of its answer, and how many of them are still open."""

    __slots__ = (
        "_acks",
        "_broker",
        "_context",
        "_is_named_by_id",
        "_now_ms",
        "_open_rows",
        "_pending",
        "_size",
        "_timeout_ms",
        "_version",
        "response",
    )

    def __init__(self, broker: "Broker", context: "RequestContext", request: ProduceRequest) -> None:
        self._broker = broker
        self._context = context
        self._acks = request.acks
        self._timeout_ms = request.timeout_ms if request.acks == ACKS_ALL else None
        self._version = context.version
        self._is_named_by_id = context.version >= TOPIC_ID_VERSION_MIN
        self._now_ms = context.received_ms
        self._open_rows = 0
        self._size = 0
        self._pending: Pending | None = None
        self.response = ProduceResponse([], 0, [])

    def append(
        self, topic: TopicProduceData, data: PartitionProduceData, row: PartitionProduceResponse
    ) -> None:
        """Append one partition's batch, and fill its row now or later."""
        partitions = self._broker.partitions
        if self._is_named_by_id:
            partition = partitions.get_by_id(topic.topic_id, data.index)
        else:
            partition = partitions.get(topic.name, data.index)
        records = data.records
        if partition is None:
            topic_id = topic.topic_id if self._is_named_by_id else None
            row.error_code = int(partitions.why_missing(topic.name, topic_id, data.index))
            return
        if records is not None:
            self._size += len(records)
        refusal = self._refusal(partition, records)
        if refusal is not None:
            row.error_code, row.error_message = int(refusal[0]), refusal[1]
            return
        if partition.takes_turns or partition.prepares_in_thread(records):  # type: ignore[arg-type]
            self._append_in_turn(partition, records, row)
            return
        try:
            result = partition.append(records, now_ms=self._now_ms)  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - told in the partition's row; a bug is logged there
            self._fail(row, partition, error, records)
        else:
            self._appended(row, partition, result)

    def _refusal(self, partition: "Partition", records: Any) -> tuple[ErrorCode, str | None] | None:
        """What is wrong before the batch itself is looked at."""
        if not -1 <= self._acks <= 1:
            return ErrorCode.INVALID_REQUIRED_ACKS, None
        if not records:
            return ErrorCode.INVALID_RECORD, "a produce request has one batch per partition, this has none"
        if partition.topic in INTERNAL_TOPICS and self._context.client_id != ADMIN_CLIENT_ID:
            return ErrorCode.INVALID_TOPIC_EXCEPTION, f"clients do not write to {partition.topic}"
        if self._acks == ACKS_ALL and partition.log.config.min_insync_replicas > IN_SYNC_REPLICAS:
            return ErrorCode.NOT_ENOUGH_REPLICAS, None
        if len(records) > _ATTRIBUTES_LOW_BYTE and records[_MAGIC] == 2:
            attributes = records[_ATTRIBUTES_LOW_BYTE]
            if attributes & _COMPRESSION_MASK == _ZSTD and self._version < ZSTD_VERSION_MIN:
                return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, None
            if attributes & _TRANSACTIONAL_BIT:
                # There is no coordinator that could have begun the transaction.
                return ErrorCode.INVALID_TXN_STATE, None
        return None

    def _append_in_turn(self, partition: "Partition", records: Any, row: PartitionProduceResponse) -> None:
        self._open_rows += 1
        batch = bytes(records)

        def done(result: AppendResult | BaseException) -> None:
            if isinstance(result, BaseException):
                self._fail(row, partition, result, batch)
            else:
                self._appended(row, partition, result)
            self._close_row()

        partition.append_in_turn(batch, done)

    def _appended(self, row: PartitionProduceResponse, partition: "Partition", result: AppendResult) -> None:
        row.base_offset = result.first_offset
        row.log_append_time_ms = result.log_append_time_ms
        row.log_start_offset = result.log_start_offset
        if self._acks != ACKS_NONE and not partition.is_safe(result.last_offset + 1):
            self._open_rows += 1
            partition.wait_until_safe(self._when_safe(row, partition), self._timeout_ms)

    def _when_safe(
        self, row: PartitionProduceResponse, partition: "Partition"
    ) -> Callable[[LogError | None], None]:
        def done(error: LogError | None) -> None:
            if error is not None:
                self._fail(row, partition, error, None)
            self._close_row()

        return done

    def _fail(
        self, row: PartitionProduceResponse, partition: "Partition", error: BaseException, records: Any
    ) -> None:
        """Say in the row what was wrong, in as much detail as is the client's business."""
        code = code_of(error)
        row.error_code = int(code)
        row.base_offset = row.log_append_time_ms = row.log_start_offset = _NONE
        config = partition.log.config
        match error:
            case RefusedRecords():
                _tell_records(row, error.record_errors)
            case InvalidTimestamp():
                _tell_records(row, find_ill_timed(records, config, self._now_ms))
            case RecordTooLarge() if error.size_bytes <= config.max_message_bytes:
                row.error_code = int(ErrorCode.RECORD_LIST_TOO_LARGE)
        match error:
            case RefusedRecords() | InvalidRecord() | ProducerError():
                row.error_message = str(error)
                row.log_start_offset = partition.log.log_start_offset
            case RecordTooLarge() | CorruptBatchError():
                row.error_message = str(error)
            case _ if code is ErrorCode.UNKNOWN_SERVER_ERROR:
                logger.error("an append to %r met a bug", partition, exc_info=error)
            case _ if code is ErrorCode.KAFKA_STORAGE_ERROR:
                logger.error("an append to %r failed: %s", partition, error)

    # -- the answer -----------------------------------------------------------------------------------

    def result(self) -> Any:
        if not self._open_rows:
            return self._answer()
        self._pending = Pending()
        return self._pending

    def _close_row(self) -> None:
        self._open_rows -= 1
        if not self._open_rows and self._pending is not None:
            self._pending.complete(self._answer())

    def _answer(self) -> Any:
        self.response.throttle_time_ms = self._broker.quotas.record_produce(self._context, self._size)
        if self._acks != ACKS_NONE:
            return self.response
        failed = any(row.error_code for topic in self.response.responses for row in topic.partition_responses)
        return CLOSE_CONNECTION if failed else None


def _tell_records(row: PartitionProduceResponse, record_errors: list[tuple[int, str]]) -> None:
    row.record_errors = [BatchIndexAndErrorMessage(index, reason) for index, reason in record_errors]
