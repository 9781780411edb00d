"""A produce request with batches of a transaction: verified before they are appended (KIP-890).

All that the coordinator has to be asked about one request is asked at once. Batches that wait for the answer
are copied, since the request's buffer is not ours to keep; the producer's next requests wait behind them.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.partition_verification import Answer, ClientAbility, Question
from distributedlog.broker.produced_batch import (
    ATTRIBUTES,
    BASE_SEQUENCE,
    MAGIC,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    TRANSACTIONAL_BIT,
)
from distributedlog.records import HEADER, HEADER_SIZE
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.produce_rows import ProduceRows
    from distributedlog.log.files import Buffer
    from distributedlog.wire.k00_produce import PartitionProduceResponse, ProduceRequest

KNOWS_ABORTABLE_VERSION_MIN: Final = 11
LEAVES_ADDING_VERSION_MIN: Final = 12

#: The coordinator is not there for the moment. Old clients only try again for certain when they hear that
#: there are too few replicas, and need no new metadata for it.
_FOR_THE_MOMENT: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


@dataclass(slots=True)
class _Batch:
    """One partition's part of the request."""

    partition: "Partition"
    records: "Buffer"
    row: "PartitionProduceResponse"
    producer_id: int
    producer_epoch: int
    sequence: int


def produce_in_transaction(
    broker: "Broker", context: "RequestContext", request: "ProduceRequest", rows: "ProduceRows"
) -> Any:
    """The response, a `Pending` of it, or what tells of an error of the whole request."""
    refusal = _whole_refusal(request)
    if refusal is not None:
        return rows.refuse(request, refusal)
    batches: list[_Batch] = []
    for partition, records, row in rows.of(request):
        header = _transactional_header(records)
        if header is None:
            rows.append(partition, records, row)
        else:
            batches.append(_Batch(partition, records, row, *header))
    if batches:
        _Writing(broker, context.version, request.transactional_id or "", batches, rows).begin()
    return rows.result()


def _whole_refusal(request: "ProduceRequest") -> ErrorCode | None:
    """What is wrong with the transaction itself, so that no part of the request is done."""
    if request.transactional_id is None:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    producers = {
        header[:2]
        for topic in request.topic_data
        for data in topic.partition_data
        if data.records is not None and (header := _transactional_header(data.records)) is not None
    }
    return ErrorCode.INVALID_PRODUCER_ID_MAPPING if len(producers) > 1 else None


def _transactional_header(records: Any) -> tuple[int, int, int] | None:
    """Producer, epoch and sequence of a batch in a transaction. What has no sound header, or no producer, is
    left for the append to refuse."""
    if len(records) < HEADER_SIZE:
        return None
    fields = HEADER.unpack_from(records)
    if fields[MAGIC] != 2 or not fields[ATTRIBUTES] & TRANSACTIONAL_BIT or fields[PRODUCER_ID] < 0:
        return None
    return fields[PRODUCER_ID], fields[PRODUCER_EPOCH], fields[BASE_SEQUENCE]


class _Writing:
    """The transactional batches of one request, on their way through the coordinator into the logs."""

    __slots__ = ("_ability", "_batches", "_broker", "_has_waited", "_rows", "_transactional_id")

    def __init__(
        self,
        broker: "Broker",
        version: int,
        transactional_id: str,
        batches: list[_Batch],
        rows: "ProduceRows",
    ) -> None:
        self._broker = broker
        self._transactional_id = transactional_id
        self._batches = batches
        self._rows = rows
        self._has_waited = False
        self._ability = ClientAbility(
            knows_abortable=version >= KNOWS_ABORTABLE_VERSION_MIN,
            leaves_adding=version >= LEAVES_ADDING_VERSION_MIN,
        )

    def begin(self) -> None:
        """Append at once what can be; what has to wait keeps the response back until it is done."""
        rows, is_over = self._rows, False
        rows.hold()

        def work(end: "Callable[[], None]") -> None:
            def done(answers: list[Answer]) -> None:
                nonlocal is_over
                try:
                    self._append(answers)
                finally:
                    is_over = True
                    rows.let_go()
                    end()

            self._broker.verifier.ask_patiently(self._question(), done)

        self._broker.producer_turns.take(self._batches[0].producer_id, work)
        if not is_over:
            self._has_waited = True
            for batch in self._batches:
                batch.records = bytes(batch.records)

    def _question(self) -> Question:
        first = self._batches[0]
        return Question(
            self._transactional_id,
            first.producer_id,
            first.producer_epoch,
            self._ability,
            [(batch.partition, batch.sequence) for batch in self._batches],
        )

    def _append(self, answers: list[Answer]) -> None:
        for batch, answer in zip(self._batches, answers, strict=True):
            if isinstance(answer, ErrorCode):
                self._refuse(batch.row, answer)
            elif self._has_waited:
                self._rows.append_in_turn(batch.partition, batch.records, batch.row, answer)
            else:
                self._rows.append(batch.partition, batch.records, batch.row, answer)

    def _refuse(self, row: "PartitionProduceResponse", error: ErrorCode) -> None:
        if error in _FOR_THE_MOMENT or (
            error is ErrorCode.CONCURRENT_TRANSACTIONS and not self._ability.leaves_adding
        ):
            row.error_message = (
                f"whether the partition is part of the transaction cannot be told: {error.name}"
            )
            error = ErrorCode.NOT_ENOUGH_REPLICAS
        elif error is ErrorCode.INVALID_TXN_STATE:
            row.error_message = "the partition was not added to the transaction"
        row.error_code = int(error)
