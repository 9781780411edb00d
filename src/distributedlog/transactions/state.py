"""Everything that one coordinator holds, passed to the functions that act on it."""

from dataclasses import dataclass, field

from distributedlog.coordination import Reply, TimerBook
from distributedlog.transactions.config import TransactionConfig
from distributedlog.transactions.errors import TransactionError
from distributedlog.transactions.metadata import TopicPartition, TransactionMetadata
from distributedlog.transactions.outcome import Outcome
from distributedlog.transactions.states import TransactionState
from distributedlog.transactions.timer_keys import TimerKey
from distributedlog.wire.error_codes import ErrorCode


@dataclass(slots=True)
class TransactionCounts:
    """How many transactions have ended since the start, for metrics; the driver's, who may keep it longer
    than the coordinator lives. Those that timed out are among the aborted."""

    committed: int = 0
    aborted: int = 0
    timed_out: int = 0


@dataclass(slots=True)
class CoordinatorState:
    """Hard state (``transactions``: what replay builds) and soft state (the rest)."""

    config: TransactionConfig
    coordinator_epoch: int
    counts: TransactionCounts
    transactions: dict[str, TransactionMetadata] = field(default_factory=dict)
    #: The ids with an open transaction, and those whose transaction lacks markers.
    ongoing: set[str] = field(default_factory=set)
    prepared: set[str] = field(default_factory=set)
    #: Of prepared transactions the partitions without a marker, where some have theirs.
    unfinished: dict[str, frozenset[TopicPartition]] = field(default_factory=dict)
    #: How often an id's markers were tried in vain.
    attempts: dict[str, int] = field(default_factory=dict)
    #: Answers to EndTxn that wait for the markers.
    ending: dict[str, Reply] = field(default_factory=dict)
    timers: TimerBook[TimerKey] = field(default_factory=TimerBook)

    def metadata(self, transactional_id: str, out: Outcome) -> TransactionMetadata | None:
        """The id's state, as it will be when what the outcome has by now is applied."""
        for change in reversed(out.changes):
            if change.transactional_id == transactional_id:
                return change.metadata
        return self.transactions.get(transactional_id)

    def held_by(self, transactional_id: str, producer_id: int, out: Outcome) -> TransactionMetadata:
        """The id's state, if it belongs to this producer id."""
        if not transactional_id:
            raise TransactionError(ErrorCode.INVALID_REQUEST)
        metadata = self.metadata(transactional_id, out)
        if metadata is None or metadata.producer_id != producer_id:
            raise TransactionError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return metadata

    def markers_lacking(self, metadata: TransactionMetadata) -> frozenset[TopicPartition]:
        """The partitions of a prepared transaction that have no marker yet."""
        return self.unfinished.get(metadata.transactional_id, metadata.partitions)

    def put(self, transactional_id: str, metadata: TransactionMetadata | None) -> None:
        """Change the hard state, and what follows from it at once."""
        self.ongoing.discard(transactional_id)
        self.prepared.discard(transactional_id)
        self.unfinished.pop(transactional_id, None)
        self.attempts.pop(transactional_id, None)
        if metadata is None:
            self.transactions.pop(transactional_id, None)
            return
        self.transactions[transactional_id] = metadata
        if metadata.state is TransactionState.ONGOING:
            self.ongoing.add(transactional_id)
        elif metadata.is_prepared:
            self.prepared.add(transactional_id)
