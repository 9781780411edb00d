"""A partition's log as far as transactions see it: data, markers, and what it remembers of producers.

It keeps the rules of a real one (`broker/`): the first write of a transaction waits for the coordinator's
word that the partition belongs to it, and counts for nothing if a marker comes in between; a marker of a
stale epoch is refused, and one that is there already is accepted again.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from distributedlog.transactions import MarkerPlan
from distributedlog.wire.error_codes import ErrorCode


class Data(NamedTuple):
    """A batch. ``transaction`` is the coordinator's count of the id's transactions when it verified it."""

    producer_id: int
    epoch: int
    transaction: int
    serial: int


class Marker(NamedTuple):
    """The end of a producer's transaction here."""

    producer_id: int
    epoch: int
    is_commit: bool
    transaction: int


@dataclass(slots=True)
class _Producer:
    epoch: int = -1
    open: list[Data] = field(default_factory=list)
    #: Rises with every marker: who asked the coordinator before it asks again.
    guard: int = 0


class SimulatedLog:
    """One partition."""

    def __init__(self) -> None:
        self.entries: list[Data | Marker] = []
        self.producers: dict[int, _Producer] = {}

    def of(self, producer_id: int) -> _Producer:
        return self.producers.setdefault(producer_id, _Producer())

    def open_transaction(self, producer_id: int, epoch: int) -> int | None:
        """The transaction that a write would go on with without asking; None where it has to ask."""
        known = self.of(producer_id)
        return known.open[0].transaction if known.open and known.epoch == epoch else None

    def append(self, data: Data, guard: int) -> ErrorCode:
        """Take a batch whose transaction was verified when ``guard`` was taken."""
        known = self.of(data.producer_id)
        if data.epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if guard != known.guard or (known.open and data.epoch != known.epoch):
            return ErrorCode.INVALID_TXN_STATE
        known.epoch = data.epoch
        known.open.append(data)
        self.entries.append(data)
        return ErrorCode.NONE

    def mark(self, plan: MarkerPlan, transaction: int) -> ErrorCode:
        """End the producer's transaction."""
        known = self.of(plan.producer_id)
        if plan.producer_epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        for data in known.open:
            assert data.transaction == transaction, f"{plan} ends {data}, which is of another transaction"
        known.epoch = plan.producer_epoch
        known.open.clear()
        known.guard += 1
        self.entries.append(Marker(plan.producer_id, plan.producer_epoch, plan.is_commit, transaction))
        return ErrorCode.NONE
