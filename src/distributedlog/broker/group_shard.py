"""One partition of ``__consumer_offsets`` and the coordinator of the groups in it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distributedlog.broker.coordinator_log import EndOfTransaction, LoadedRecord, encode_records
from distributedlog.broker.coordinator_shard import CoordinatorShard, ShardState
from distributedlog.coordination import Context
from distributedlog.groups import GroupConfig, GroupCoordinator, Outcome, Reply, TopicsImage
from distributedlog.groups.append_failure import failed_reply
from distributedlog.log import AppendResult, VerificationGuard
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.scheduler import Scheduler


class GroupShard(CoordinatorShard[GroupCoordinator, Outcome]):
    """``topics`` gives the cluster's topics as they are now: the coordinator learns of changes when it is
    next asked something, or by `follow_topics`."""

    def __init__(
        self,
        partition: "Partition",
        scheduler: "Scheduler",
        config: GroupConfig,
        new_id: Callable[[], str],
        topics: Callable[[], TopicsImage],
    ) -> None:
        self._config = config
        self._new_id = new_id
        self._topics = topics
        #: That of the request which is being handled.
        self._guard: VerificationGuard | None = None
        super().__init__(partition, scheduler)

    def _new_coordinator(self) -> GroupCoordinator:
        coordinator = GroupCoordinator(self._config, self._new_id)
        coordinator.topics_changed(self._topics())
        return coordinator

    def _replay(self, entry: LoadedRecord | EndOfTransaction) -> None:
        if isinstance(entry, EndOfTransaction):
            self.coordinator.replay_end_transaction(entry.producer_id, entry.is_committed)
        else:
            self.coordinator.replay(entry.key, entry.value, entry.offset, entry.producer_id)

    def _failed_reply(self, reply: Reply, append_error: ErrorCode) -> Reply:
        return failed_reply(reply, append_error)

    def _encoded(self, outcome: Outcome, now_ms: int, batch_bytes_max: int) -> bytearray:
        return encode_records(outcome.records, now_ms, batch_bytes_max, outcome.transaction)

    def handle_verified(self, context: Context, request: Any, guard: VerificationGuard | None) -> None:
        """`handle` for offsets in a transaction, with the guard that its coordinator's word belongs to."""
        self._guard = guard
        try:
            self.handle(context, request)
        finally:
            self._guard = None

    def _append(self, outcome: Outcome) -> AppendResult:
        guard = None if outcome.transaction is None else self._guard
        return self._append_data(outcome, guard)

    def _catch_up(self) -> None:
        self.follow_topics()

    def follow_topics(self) -> None:
        """Let the coordinator know of topics that came and went."""
        image = self._topics()
        if self.state is ShardState.ACTIVE and image is not self.coordinator.state.image:
            self._act(self.coordinator.topics_changed(image))

    def configure(self, config: GroupConfig) -> None:
        """Go by another configuration from now on."""
        self._config = config
        self.coordinator.state.config = config
