"""The transaction coordinators of this broker, and what they know of it.

Leaders of partitions ask them by `TransactionRuntime.verify_or_add`; requests of clients come by `ask`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from distributedlog.broker.broker_features import TRANSACTION_VERSION
from distributedlog.broker.coordinator_runtime import CoordinatorRuntime
from distributedlog.cluster.image import TRANSACTION_STATE_TOPIC, ClusterImage
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.marker_dispatch import MarkerDispatch
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.transaction_shard import TransactionShard
    from distributedlog.transactions import TransactionConfig, TransactionCounts

#: A partition by its topic's name.
TopicPartition = tuple[str, int]
#: Told an error, or NONE, for each partition.
VerifiedCallback = Callable[[Mapping[TopicPartition, ErrorCode]], None]


class TransactionFigures(NamedTuple):
    """How many transactions are open or lack their markers now, and how many have ended since the start."""

    open: int
    ending: int
    committed: int
    aborted: int
    timed_out: int


class TransactionRuntime(CoordinatorRuntime["TransactionShard"]):
    """One coordinator per partition of ``__transaction_state``."""

    topic = TRANSACTION_STATE_TOPIC

    def __init__(self, broker: "Broker") -> None:
        super().__init__(broker)
        self._config: TransactionConfig | None = None
        self._counts: TransactionCounts | None = None
        self._markers: MarkerDispatch | None = None

    def _new_shard(self, partition: "Partition") -> "TransactionShard":
        # Not on the way to the start, nor ever where nobody has transactions.
        from distributedlog.broker.marker_dispatch import MarkerDispatch  # noqa: PLC0415
        from distributedlog.broker.marker_writing import write_markers  # noqa: PLC0415
        from distributedlog.broker.transaction_shard import TransactionShard  # noqa: PLC0415
        from distributedlog.transactions import TransactionCounts  # noqa: PLC0415

        broker = self._broker
        if self._markers is None or self._counts is None:
            self._markers, self._counts = MarkerDispatch(broker, write_markers), TransactionCounts()
        if self._config is None:
            self._config = self._transaction_config()
        return TransactionShard(
            partition, broker.scheduler, self._config, self._counts, broker.producer_ids.take, self._markers
        )

    def _follow(self, old: ClusterImage, new: ClusterImage) -> None:
        if not self._shards:
            return
        config = self._transaction_config()
        if config != self._config:
            self._config = config
            for shard in self._shards.values():
                shard.configure(config)

    def _transaction_config(self) -> "TransactionConfig":
        from distributedlog.transactions import TransactionConfig  # noqa: PLC0415 - as above

        config = self._broker.config
        return TransactionConfig(
            config.transaction_max_timeout_ms,
            config.transactional_id_expiration_ms,
            config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            config.transaction_remove_expired_transaction_cleanup_interval_ms,
            self._broker.image.features.get(TRANSACTION_VERSION, 0),
        )

    # -- for the leaders of partitions ------------------------------------------------------------------

    def verify_or_add(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        may_add: bool,
        done: VerifiedCallback,
    ) -> None:
        """Tell whether partitions belong to a producer's transaction; with ``may_add`` they do from now on,
        where that is possible. It is what AddPartitionsToTxn does from version 4 on."""
        shard, error = self._shard_of(transactional_id)
        if shard is None:
            done(dict.fromkeys(partitions, error))
            return
        identity = transactional_id, producer_id, producer_epoch
        shard.verify_or_add(identity, partitions, may_add=may_add, done=done)

    # -- for metrics ------------------------------------------------------------------------------------

    def figures(self) -> TransactionFigures:
        """All coordinators together."""
        states = [shard.coordinator.state for shard in self._shards.values()]
        counts = self._counts
        ended = (0, 0, 0) if counts is None else (counts.committed, counts.aborted, counts.timed_out)
        return TransactionFigures(
            sum(len(state.ongoing) for state in states), sum(len(state.prepared) for state in states), *ended
        )
