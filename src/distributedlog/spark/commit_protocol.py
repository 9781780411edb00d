"""[pure] The driver's side of exactly-once: what to ask of the cluster next (docs/adr/0023).

``next_step`` says what to do, ``done`` that it was done, ``failed`` that it was not, or that nobody knows.
After a failure everything is forgotten: the next step is to become the only producer again and to read the
record, which says what the unanswered requests have done.
"""

from dataclasses import dataclass
from enum import Enum, auto

from distributedlog.spark.commit_record import NO_BATCH, CommitRecord
from distributedlog.spark.errors import SparkSourceError


class DriverSuperseded(SparkSourceError):
    """Another run of the same query has committed since this one did: two drivers on one checkpoint."""


class CheckpointSetBack(SparkSourceError):
    """The query has committed later batches than this one: its checkpoint is an old one."""


class State(Enum):
    #: Nothing is known: neither who may write nor what is written.
    UNKNOWN = auto()
    #: Nobody before us can write any more; all their transactions are complete.
    CLAIMED = auto()
    #: The record was read, and only we can change it.
    KNOWN = auto()
    #: The transaction has its partitions.
    OPEN = auto()
    #: All data was acknowledged.
    WRITTEN = auto()
    #: The batch id was written into the transaction.
    RECORDED = auto()


class Step(Enum):
    CLAIM = auto()
    READ_RECORD = auto()
    ADD_PARTITIONS = auto()
    WRITE_DATA = auto()
    WRITE_RECORD = auto()
    COMMIT = auto()
    #: The batch is visible, by this commit or an earlier one.
    NOTHING = auto()


_STEP_IN = {
    State.UNKNOWN: Step.CLAIM,
    State.CLAIMED: Step.READ_RECORD,
    State.OPEN: Step.WRITE_DATA,
    State.WRITTEN: Step.WRITE_RECORD,
    State.RECORDED: Step.COMMIT,
}
_STATE_AFTER = {
    Step.CLAIM: State.CLAIMED,
    Step.ADD_PARTITIONS: State.OPEN,
    Step.WRITE_DATA: State.WRITTEN,
    Step.WRITE_RECORD: State.RECORDED,
}


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch and the run of the query that has it."""

    batch_id: int
    run: str


class CommitProtocol:
    """One per query and process; batches come one after the other."""

    def __init__(self) -> None:
        self.state = State.UNKNOWN
        #: What the cluster has recorded; meaningful from KNOWN on.
        self.record = CommitRecord()
        self._batch: Batch | None = None

    def begin(self, batch: Batch) -> None:
        """Commit this batch now. A transaction that was left open by an earlier failure is forgotten."""
        if self.state not in {State.UNKNOWN, State.CLAIMED, State.KNOWN}:
            self.state = State.UNKNOWN
        self._batch = batch

    def next_step(self) -> Step:
        """What to do next; DriverSuperseded or CheckpointSetBack where the batch must not be written."""
        if self.state is not State.KNOWN:
            return _STEP_IN[self.state]
        batch = self._current()
        if self.record.has_superseded(batch.run):
            raise DriverSuperseded(
                f"batch {batch.batch_id} is not committed: another run of this query has taken over and "
                f"committed batch {self.record.batch_id}. Two drivers run on one checkpoint; stop one of them"
            )
        if batch.batch_id < self.record.batch_id:
            raise CheckpointSetBack(
                f"batch {batch.batch_id} is not committed: this query has already committed batch "
                f"{self.record.batch_id}, so its checkpoint is older than what it has written. Continue from "
                "the newest checkpoint, or start with a new one"
            )
        return Step.NOTHING if batch.batch_id == self.record.batch_id else Step.ADD_PARTITIONS

    def done(self, step: Step, record: CommitRecord | None = None) -> None:
        """The cluster has confirmed a step; `record` is what READ_RECORD has found."""
        if step is Step.READ_RECORD:
            self.record = record or CommitRecord()
            self.state = State.KNOWN
        elif step is Step.COMMIT:
            self.record = self.next_record()
            self.state = State.KNOWN
        else:
            self.state = _STATE_AFTER[step]

    def failed(self) -> None:
        """A step was refused, or nobody knows what became of it."""
        self.state = State.UNKNOWN

    @property
    def has_open_transaction(self) -> bool:
        """Whether a transaction may be open that holds readers back."""
        return self.state in {State.OPEN, State.WRITTEN, State.RECORDED}

    def next_record(self) -> CommitRecord:
        """What belongs into the transaction of the current batch."""
        batch = self._current()
        return self.record.followed_by(batch.batch_id, batch.run)

    def _current(self) -> Batch:
        if self._batch is None or self._batch.batch_id <= NO_BATCH:
            raise ValueError("there is no batch to commit")
        return self._batch
