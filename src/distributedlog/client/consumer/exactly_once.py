"""[io] Consume, transform, produce, each record once: in steps, each of them a transaction.

    with (
        Consumer(servers, group_id="totals", enable_auto_commit=False, isolation_level="read_committed") as
        consumer, Producer(servers, transactional_id="totals-1") as producer,
    ):
        consumer.subscribe("orders")
        step = exactly_once(consumer, producer)
        while True:
            with step as records:
                for record in records:
                    producer.send("totals", transform(record.value), key=record.key)

What a step sends, and the positions behind what it read, are committed together or not at all. When it
fails, the transaction is aborted and the consumer goes back, so that the next step reads the same records.
Where the answer to a commit was lost, the group is asked how far it has come.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from distributedlog.client.errors import CommitFailed, InvalidOption, TransactionAborted
from distributedlog.client.producer.transaction_state import TransactionState

if TYPE_CHECKING:
    from types import TracebackType

    from distributedlog.client.consumer.async_consumer import AsyncConsumer
    from distributedlog.client.consumer.consumer import Consumer
    from distributedlog.client.consumer.core import ConsumerCore
    from distributedlog.client.consumer.record import ConsumerRecord
    from distributedlog.client.metadata import TopicPartition
    from distributedlog.client.producer.async_producer import AsyncProducer

_logger = logging.getLogger(__name__)

ABORTS_MAX: Final = 5
_ABORTED: Final = (TransactionAborted, CommitFailed)


def exactly_once(
    consumer: Consumer | AsyncConsumer,
    producer: Any,
    *,
    timeout_seconds: float = 1.0,
    max_records: int | None = None,
    aborts_max: int = ABORTS_MAX,
) -> ExactlyOnce:
    """Steps for ``with`` (or ``async with``, with the async clients); each yields what one `poll` returns.

    A step that was aborted because the group or the coordinator wanted it so (TransactionAborted,
    CommitFailed) is no error: the next one reads the same again. After `aborts_max` such in a row the error
    is raised. Whatever else a block raises aborts the step, too, and goes on to the caller.
    """
    return ExactlyOnce(consumer, producer, timeout_seconds, max_records, aborts_max)


class ExactlyOnce:
    """Made by `exactly_once`; enter it as often as there are steps."""

    def __init__(
        self,
        consumer: Consumer | AsyncConsumer,
        producer: Any,
        timeout_seconds: float,
        max_records: int | None,
        aborts_max: int,
    ) -> None:
        settings = consumer._core.settings
        if settings.group_id is None or settings.is_auto_commit or settings.is_committed_first:
            raise InvalidOption(
                "exactly_once commits offsets with its transactions: it needs a consumer with a group_id "
                "and enable_auto_commit=False"
            )
        if not settings.is_read_committed:
            raise InvalidOption(
                "exactly_once must not read what another transaction may abort: give the consumer "
                "isolation_level='read_committed'"
            )
        self._consumer: Any = consumer
        self._producer = producer
        self._core: ConsumerCore = consumer._core
        self._timeout_seconds = timeout_seconds
        self._max_records = max_records
        self._aborts_max = aborts_max
        self._aborts = 0
        self._transaction: Any = None
        self._before: dict[TopicPartition, int] = {}
        producer.transaction()  # an error now, not with the first record, when it has no transactional_id

    # with

    def __enter__(self) -> list[ConsumerRecord]:
        records = self._consumer.poll(self._timeout_seconds, max_records=self._max_records)
        transaction = self._begin(records)
        if transaction is not None:
            try:
                transaction.__enter__()
            except BaseException:
                self._core.rewind(self._before)
                raise
            self._transaction = transaction
        return list(records)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        transaction, self._transaction = self._transaction, None
        if transaction is None:
            return False
        try:
            if error is None:
                try:
                    transaction.send_offsets(self._offsets(), self._consumer.group_metadata())
                except BaseException as failure:
                    transaction.__exit__(type(failure), failure, failure.__traceback__)
                    raise
            transaction.__exit__(kind, error, trace)
        except BaseException as failure:
            if self._may_go_on(failure):
                return True
            raise
        return self._may_go_on(error)

    # async with

    async def __aenter__(self) -> list[ConsumerRecord]:
        records = await self._consumer.poll(self._timeout_seconds, max_records=self._max_records)
        transaction = self._begin(records)
        if transaction is not None:
            try:
                await transaction.__aenter__()
            except BaseException:
                self._core.rewind(self._before)
                raise
            self._transaction = transaction
        return list(records)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        transaction, self._transaction = self._transaction, None
        if transaction is None:
            return False
        try:
            if error is None:
                try:
                    await transaction.send_offsets(self._offsets(), self._consumer.group_metadata())
                except BaseException as failure:
                    await transaction.__aexit__(type(failure), failure, failure.__traceback__)
                    raise
            await transaction.__aexit__(kind, error, trace)
        except BaseException as failure:
            if self._may_go_on(failure):
                return True
            raise
        return self._may_go_on(error)

    # What both do

    def _begin(self, records: list[ConsumerRecord]) -> Any:
        """A transaction that is not open yet; None without records."""
        if not records:
            return None
        self._before = {}
        for record in records:
            self._before.setdefault(record.topic_partition, record.offset)
        return self._producer.transaction()

    def _offsets(self) -> dict[TopicPartition, Any]:
        """Where each partition that was read goes on."""
        offsets = self._core.to_commit(None)
        return {partition: offsets[partition] for partition in self._before if partition in offsets}

    def _is_known_to_be_aborted(self) -> bool:
        core: AsyncProducer = getattr(self._producer, "_core", self._producer)
        return core.transaction_manager().state is TransactionState.READY

    def _may_go_on(self, error: BaseException | None) -> bool:
        """Go back after an error; whether the caller need not hear of it."""
        if error is None:
            self._aborts = 0
            return False
        if self._is_known_to_be_aborted():
            self._core.rewind(self._before)
        else:  # a commit whose answer was lost may have come through
            self._core.ask_where_to_go_on(self._before)
        if not isinstance(error, _ABORTED) or self._aborts >= self._aborts_max:
            self._aborts = 0
            return False
        self._aborts += 1
        _logger.warning("a step was aborted, and is done again: %s", error)
        return True
