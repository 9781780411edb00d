"""Asking a transaction's coordinator before partitions take its first batch of records (KIP-890).

Old clients add partitions to a transaction themselves: the coordinator is asked whether they did. Newer ones
leave that to the broker: the coordinator is asked to add them. Either way a partition is asked about once
in a transaction; from its first batch on it knows by itself that the transaction is open.

What the coordinator answers is put into words that the client's version knows, as Kafka puts it.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from distributedlog.log import VerificationGuard
from distributedlog.log.errors import InvalidProducerEpoch
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.scheduler import Timer

#: Topic and index.
PartitionKey = tuple[str, int]

#: For records that have no sequence, such as a group's offsets.
NO_SEQUENCE: Final = -1

logger = logging.getLogger("distributedlog.broker")


class ClientAbility(NamedTuple):
    """What a client's version of a request can do: understand TRANSACTION_ABORTABLE; leave it to the broker
    to add partitions, which also means that it has a new epoch for every transaction."""

    knows_abortable: bool
    leaves_adding: bool


class Question(NamedTuple):
    """The batches of one request: partitions with the sequence of the batch that each is to take."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    ability: ClientAbility
    batches: "Sequence[tuple[Partition, int]]"


#: Of one batch: the guard with which it may be appended, None where it needs none, or why it may not.
Answer = VerificationGuard | ErrorCode | None
AnswersCallback = Callable[[list[Answer]], None]


class PartitionVerifier:
    """Of one broker. Answers come at once or later, always in the thread of the event loop."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def ask(self, question: Question, done: AnswersCallback) -> None:
        """Give ``done`` an answer for each of the question's batches, in their order."""
        is_checked = self._broker.config.transaction_partition_verification_enable
        if not (question.ability.leaves_adding or is_checked):
            done([None] * len(question.batches))
            return
        answers = [self._start(question, partition, sequence) for partition, sequence in question.batches]
        asked = {
            place: (partition.topic, partition.index)
            for place, (partition, _) in enumerate(question.batches)
            if isinstance(answers[place], VerificationGuard)
        }
        if not asked:
            done(answers)
            return

        def take(errors: Mapping[PartitionKey, ErrorCode]) -> None:
            for place, key in asked.items():
                error = errors.get(key, ErrorCode.NONE)
                if error is not ErrorCode.NONE:
                    answers[place] = in_clients_words(error, question.ability)
            done(answers)

        _Asking(self._broker, take).begin(question, list(dict.fromkeys(asked.values())))

    def ask_patiently(self, question: Question, done: AnswersCallback) -> None:
        """The same for a request that is costly to send again: where the last transaction of a client that
        leaves the adding to the broker is not finished yet, ask again for a little while."""
        if not question.ability.leaves_adding:
            self.ask(question, done)
            return
        scheduler, config = self._broker.scheduler, self._broker.config
        patience_ms = min(config.add_partitions_to_txn_retry_backoff_max_ms, config.request_timeout_ms)
        give_up_ms = scheduler.now_ms() + patience_ms

        def take(answers: list[Answer]) -> None:
            if ErrorCode.CONCURRENT_TRANSACTIONS not in answers or scheduler.now_ms() >= give_up_ms:
                done(answers)
            else:
                backoff_ms = config.add_partitions_to_txn_retry_backoff_ms
                scheduler.call_later(backoff_ms, lambda: self.ask(question, take))

        self.ask(question, take)

    def _start(self, question: Question, partition: "Partition", sequence: int) -> Answer:
        if partition.is_deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        try:
            return partition.log.producer_states.start_verification(
                question.producer_id,
                question.producer_epoch,
                sequence,
                bumps_epoch=question.ability.leaves_adding,
                now_ms=self._broker.scheduler.now_ms(),
            )
        except InvalidProducerEpoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH


class _Asking:
    """One question on its way to the coordinator: answered once, by it or by the time limit."""

    __slots__ = ("_broker", "_done", "_timer")

    def __init__(self, broker: "Broker", done: Callable[[Mapping[PartitionKey, ErrorCode]], None]) -> None:
        self._broker = broker
        self._done: Callable[[Mapping[PartitionKey, ErrorCode]], None] | None = done
        self._timer: Timer | None = None

    def begin(self, question: Question, partitions: Sequence[PartitionKey]) -> None:
        try:
            self._broker.transactions.verify_or_add(
                question.transactional_id,
                question.producer_id,
                question.producer_epoch,
                partitions,
                may_add=question.ability.leaves_adding,
                done=self._finish,
            )
        except Exception:
            # A bug of ours, which must not hold up the producer for ever.
            logger.exception("the coordinator of %r could not be asked", question.transactional_id)
            self._finish(dict.fromkeys(partitions, ErrorCode.UNKNOWN_SERVER_ERROR))
        if self._done is None:
            return
        unanswered = dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
        self._timer = self._broker.scheduler.call_later(
            self._broker.config.request_timeout_ms, lambda: self._finish(unanswered)
        )

    def _finish(self, errors: Mapping[PartitionKey, ErrorCode]) -> None:
        done, self._done = self._done, None
        if self._timer is not None:
            self._timer.cancel()
        if done is not None:
            done(errors)


def in_clients_words(error: ErrorCode, ability: ClientAbility) -> ErrorCode:
    """A coordinator's error as a producer that writes is told it."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and not ability.knows_abortable:
        return ErrorCode.INVALID_TXN_STATE
    return error
