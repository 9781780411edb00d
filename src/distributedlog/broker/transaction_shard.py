"""One partition of ``__transaction_state`` and the coordinator of the transactions in it.

Beyond what every coordinator's driver does it takes producer ids for those who want one, and has the markers
of decided transactions written, as `distributedlog.transactions.outcome` demands.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from distributedlog.broker.coordinator_log import EndOfTransaction, LoadedRecord
from distributedlog.broker.coordinator_shard import CoordinatorShard, ShardState, deliver
from distributedlog.broker.marker_dispatch import MarkerDispatch, MarkerResults
from distributedlog.broker.pending import Pending
from distributedlog.transactions import (
    Context,
    IdWanted,
    MarkerPlan,
    Outcome,
    Reply,
    TransactionConfig,
    TransactionCoordinator,
    TransactionCounts,
)
from distributedlog.transactions.append_failure import failed_reply
from distributedlog.wire import APIS, ErrorCode
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.producer_ids import IdCallback
    from distributedlog.broker.scheduler import Scheduler

ADD_PARTITIONS_TO_TXN: Final = 24

logger = logging.getLogger("distributedlog.broker")


class TransactionShard(CoordinatorShard[TransactionCoordinator, Outcome]):
    """``take_id`` gives producer ids, ``markers`` writes markers; ``counts`` outlive the coordinator."""

    def __init__(
        self,
        partition: "Partition",
        scheduler: "Scheduler",
        config: TransactionConfig,
        counts: TransactionCounts,
        take_id: "Callable[[IdCallback], None]",
        markers: MarkerDispatch,
    ) -> None:
        self._config = config
        self._counts = counts
        self._take_id = take_id
        self._markers = markers
        super().__init__(partition, scheduler)

    def _new_coordinator(self) -> TransactionCoordinator:
        return TransactionCoordinator(self._config, self.partition.leader_epoch, self._counts)

    def _replay(self, entry: LoadedRecord | EndOfTransaction) -> None:
        if isinstance(entry, LoadedRecord):
            self.coordinator.replay(entry.key, entry.value)

    def _failed_reply(self, reply: Reply, append_error: ErrorCode) -> Reply:
        return failed_reply(reply, append_error)

    def configure(self, config: TransactionConfig) -> None:
        """Go by another configuration from now on."""
        self._config = config
        self.coordinator.state.config = config

    def verify_or_add(
        self,
        identity: tuple[str, int, int],
        partitions: Sequence[tuple[str, int]],
        *,
        may_add: bool,
        done: Callable[[Mapping[tuple[str, int], ErrorCode]], None],
    ) -> None:
        """What AddPartitionsToTxn does for leaders of partitions, for one transaction: transactional id,
        producer id and epoch."""
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for topic, index in partitions:
            topics.setdefault(topic, AddPartitionsToTxnTopic(topic)).partitions.append(index)
        asked = AddPartitionsToTxnTransaction(*identity, not may_add, list(topics.values()))
        pending = Pending()
        pending.when_done(lambda response: done(_errors(response)))
        context = Context(pending, APIS[ADD_PARTITIONS_TO_TXN].last, self._scheduler.now_ms())
        self.handle(context, AddPartitionsToTxnRequest([asked]))

    # -- outcomes ---------------------------------------------------------------------------------------

    def _applied(self, outcome: Outcome) -> None:
        deliver(outcome.prompt_replies)

    def _safe(self, outcome: Outcome) -> None:
        for wanted in outcome.ids_wanted:
            self._want_id(wanted)
        for plan in outcome.markers:
            self._write(plan)

    def _lost(self, outcome: Outcome) -> None:
        for wanted in outcome.ids_wanted:
            deliver(self.coordinator.id_refused(wanted, ErrorCode.NOT_COORDINATOR).replies)

    def _want_id(self, wanted: IdWanted) -> None:
        coordinator = self.coordinator

        def taken(result: int | BaseException) -> None:
            if coordinator is not self.coordinator or self.state is not ShardState.ACTIVE:
                # Another begins from the log: who asked has to ask it.
                refused = coordinator.id_refused(wanted, ErrorCode.NOT_COORDINATOR)
                deliver(refused.replies)
            elif isinstance(result, BaseException):
                logger.error("no producer id could be given: %s", result)
                self._act(coordinator.id_refused(wanted, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            else:
                self._act(coordinator.id_given(wanted, result, self._scheduler.now_ms()))

        self._take_id(taken)

    def _write(self, plan: MarkerPlan) -> None:
        coordinator = self.coordinator

        def written(results: MarkerResults) -> None:
            if coordinator is self.coordinator and self.state is ShardState.ACTIVE:
                now_ms = self._scheduler.now_ms()
                self._act(coordinator.markers_written(plan, results.errors, now_ms, results.gone))

        self._markers.write(plan, written)


def _errors(response: AddPartitionsToTxnResponse) -> dict[tuple[str, int], ErrorCode]:
    return {
        (topic.name, each.partition_index): ErrorCode.of(each.partition_error_code)
        for transaction in response.results_by_transaction
        for topic in transaction.topic_results
        for each in topic.results_by_partition
    }
