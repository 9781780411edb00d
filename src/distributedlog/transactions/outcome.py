"""What comes out of the transaction coordinator, beyond what every coordinator's outcome has
(`distributedlog.coordination.outcome`). The driver owes it in addition:

1. ``Outcome.prompt_replies`` are sent as soon as the records are applied: they tell of nothing that is not
   durable already.
2. ``Outcome.markers`` are written when everything appended so far is durable, and not before: a marker
   must never tell of a decision that a crash takes back. ``markers_written`` is to be called with what
   came of it, partition by partition.
3. For each of ``Outcome.ids_wanted`` a producer id that nobody had is taken, and ``id_given`` called with
   it, or ``id_refused`` with the error. In between other requests may be handled.
4. When the append fails, none of these is done.
"""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from distributedlog import coordination
from distributedlog.coordination import Context, Reply
from distributedlog.transactions.metadata import TopicPartition, TransactionMetadata
from distributedlog.transactions.records import encoded_record
from distributedlog.transactions.timer_keys import TimerKey

#: Context of what nobody asked for.
NOBODY: Final = None


class Change(NamedTuple):
    """One record to append, not yet encoded. Metadata of None deletes the id."""

    transactional_id: str
    metadata: TransactionMetadata | None
    is_timeout: bool = False


class MarkerPlan(NamedTuple):
    """The markers that end one transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: frozenset[TopicPartition]
    coordinator_epoch: int
    transaction_version: int


class IdWanted(NamedTuple):
    """A request that cannot go on without a producer id; nobody's where the coordinator acts by itself."""

    context: Context | None
    request: Any


@dataclass(slots=True)
class Outcome(coordination.Outcome[TimerKey]):
    """All effects of one call."""

    changes: list[Change] = field(default_factory=list)
    prompt_replies: list[Reply] = field(default_factory=list)
    markers: list[MarkerPlan] = field(default_factory=list)
    ids_wanted: list[IdWanted] = field(default_factory=list)
    #: Of the cluster when the outcome was made: how the records are to be written.
    transaction_version: int = 2

    def change(self, metadata: TransactionMetadata, *, is_timeout: bool = False) -> None:
        """Put an id into another state."""
        self.changes.append(Change(metadata.transactional_id, metadata, is_timeout))

    @property
    def records(self) -> list[tuple[bytes, bytes | None]]:
        """The changes as they are to be appended, encoded when asked for."""
        return [
            encoded_record(each.transactional_id, each.metadata, self.transaction_version)
            for each in self.changes
        ]
