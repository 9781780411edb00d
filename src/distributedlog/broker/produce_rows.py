"""One produce request on its way: the rows of its answer, and what of it is still open.

Every partition has its own row; what is wrong with one does not touch the others. The response leaves when
all that was appended is as safe as the topics' flush policies say, or with acks=0 never: then the only way
to tell of an error is to close the connection.
"""

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.log_errors import code_of
from distributedlog.broker.pending import CLOSE_CONNECTION, Pending
from distributedlog.broker.recompression import RefusedRecords, find_ill_timed
from distributedlog.cluster.image import INTERNAL_TOPICS
from distributedlog.log import AppendResult, VerificationGuard
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
    from distributedlog.log.files import Buffer

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

logger = logging.getLogger("distributedlog.broker")


class ProduceRows:
    """Made for one request. Append its batches, then ask for the `result`."""

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

    def of(self, request: ProduceRequest) -> "Iterator[tuple[Partition, Any, PartitionProduceResponse]]":
        """Every partition of the request with its records and its row; those that are refused out of hand
        have their error in the row and are left out."""
        response = self.response
        for topic in request.topic_data:
            rows: list[PartitionProduceResponse] = []
            response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, rows))
            for data in topic.partition_data:
                row = PartitionProduceResponse(data.index, 0, _NONE, _NONE, _NONE, [], None, _NO_LEADER)
                rows.append(row)
                partition = self._find(topic, data, row)
                if partition is not None:
                    yield partition, data.records, row

    def _find(
        self, topic: TopicProduceData, data: PartitionProduceData, row: PartitionProduceResponse
    ) -> "Partition | None":
        partitions = self._broker.partitions
        if self._is_named_by_id:
            partition = partitions.get_by_id(topic.topic_id, data.index)
        else:
            partition = partitions.get(topic.name, data.index)
        if partition is None:
            topic_id = topic.topic_id if self._is_named_by_id else None
            row.error_code = int(partitions.why_missing(topic.name, topic_id, data.index))
            return None
        records = data.records
        if records is not None:
            self._size += len(records)
        refusal = self._refusal(partition, records)
        if refusal is not None:
            row.error_code, row.error_message = int(refusal[0]), refusal[1]
            return None
        return partition

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
        if (
            self._version < ZSTD_VERSION_MIN
            and len(records) > _ATTRIBUTES_LOW_BYTE
            and records[_MAGIC] == 2
            and records[_ATTRIBUTES_LOW_BYTE] & _COMPRESSION_MASK == _ZSTD
        ):
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, None
        return None

    # -- appending ------------------------------------------------------------------------------------

    def append(
        self,
        partition: "Partition",
        records: Any,
        row: PartitionProduceResponse,
        guard: VerificationGuard | None = None,
    ) -> None:
        """Append one partition's batch, and fill its row now or later."""
        if partition.takes_turns or partition.prepares_in_thread(records):
            self.append_in_turn(partition, bytes(records), row, guard)
            return
        try:
            result = partition.append(records, now_ms=self._now_ms, guard=guard)
        except Exception as error:  # noqa: BLE001 - told in the partition's row; a bug is logged there
            self._fail(row, partition, error, records)
        else:
            self._appended(row, partition, result)

    def append_in_turn(
        self,
        partition: "Partition",
        batch: "Buffer",
        row: PartitionProduceResponse,
        guard: VerificationGuard | None,
    ) -> None:
        """The same for a batch that is ours to keep, behind those that are being prepared."""
        self.hold()

        def done(result: AppendResult | BaseException) -> None:
            if isinstance(result, BaseException):
                self._fail(row, partition, result, batch)
            else:
                self._appended(row, partition, result)
            self.let_go()

        partition.append_in_turn(batch, done, guard)

    def _appended(self, row: PartitionProduceResponse, partition: "Partition", result: AppendResult) -> None:
        row.base_offset = result.first_offset
        row.log_append_time_ms = result.log_append_time_ms
        row.log_start_offset = result.log_start_offset
        if self._acks != ACKS_NONE and not partition.is_safe(result.last_offset + 1):
            self.hold()
            partition.wait_until_safe(self._when_safe(row, partition), self._timeout_ms)

    def _when_safe(
        self, row: PartitionProduceResponse, partition: "Partition"
    ) -> Callable[[LogError | None], None]:
        def done(error: LogError | None) -> None:
            if error is not None:
                self._fail(row, partition, error, None)
            self.let_go()

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

    def refuse(self, request: ProduceRequest, error: ErrorCode) -> Any:
        """The answer to a request of which nothing is done."""
        for topic in request.topic_data:
            rows = [
                PartitionProduceResponse(
                    data.index, int(error), _NONE, _NONE, _NONE, [], error.message, _NO_LEADER
                )
                for data in topic.partition_data
            ]
            self.response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, rows))
        return self._answer()

    # -- the answer -----------------------------------------------------------------------------------

    def hold(self) -> None:
        """Keep the answer back until `let_go`, as often as it was held."""
        self._open_rows += 1

    def let_go(self) -> None:
        self._open_rows -= 1
        if not self._open_rows and self._pending is not None:
            self._pending.complete(self._answer())

    def result(self) -> Any:
        """The response, a `Pending` of it, or None for acks=0."""
        if not self._open_rows:
            return self._answer()
        self._pending = Pending()
        return self._pending

    def _answer(self) -> Any:
        self.response.throttle_time_ms = self._broker.quotas.record_produce(self._context, self._size)
        if self._acks != ACKS_NONE:
            return self.response
        failed = any(row.error_code for topic in self.response.responses for row in topic.partition_responses)
        return CLOSE_CONNECTION if failed else None


def _tell_records(row: PartitionProduceResponse, record_errors: list[tuple[int, str]]) -> None:
    row.record_errors = [BatchIndexAndErrorMessage(index, reason) for index, reason in record_errors]
