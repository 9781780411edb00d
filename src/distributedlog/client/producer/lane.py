"""[pure] One partition's way through the producer: what is filled, what waits, what is on its way.

Batches leave in the order in which they were filled. Up to ``max_in_flight`` are on their way at once; after
an error they go back to their places, and the lane recovers one batch at a time, so that nothing
overtakes a retry.

The first batch of a producer goes alone, too. A partition that has never heard of a producer takes whatever
sequence it sees first: were the second batch to get through and the first one not, the order would be lost.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from distributedlog.client.producer.identity import NO_IDENTITY, NO_SEQUENCE, SEQUENCES, Identity

if TYPE_CHECKING:
    from distributedlog.client.metadata import TopicPartition
    from distributedlog.client.producer.accumulator import Accumulator
    from distributedlog.client.producer.batch import Batch
    from distributedlog.client.retry import Backoff


class Lane:
    """Belongs to the accumulator, whose lock covers ``open`` and ``waiting``; the rest is the sender's."""

    __slots__ = (
        "accumulator",
        "backoff",
        "identity",
        "in_flight",
        "is_in_transaction",
        "is_recovering",
        "known_producer_id",
        "leader_id",
        "must_renumber",
        "next_sequence",
        "open",
        "partition",
        "retry_at",
        "waiting",
    )

    def __init__(self, accumulator: Accumulator, partition: TopicPartition, leader_id: int | None) -> None:
        self.accumulator = accumulator
        self.partition = partition
        self.leader_id = leader_id
        self.open: Batch | None = None
        self.waiting: deque[Batch] = deque()
        self.in_flight: list[Batch] = []
        self.identity = NO_IDENTITY
        self.next_sequence = 0
        self.is_recovering = False
        #: The producer id of which the partition's leader has acknowledged a batch.
        self.known_producer_id = NO_IDENTITY.producer_id
        self.must_renumber = False
        self.is_in_transaction = False
        self.retry_at = 0.0
        self.backoff: Backoff | None = None

    @property
    def is_idle(self) -> bool:
        return self.open is None and not self.waiting and not self.in_flight

    def next_batch(self, now: float) -> Batch | None:
        """The batch that may leave now, if any; it stays where it is until `depart`."""
        while self.waiting and self.waiting[0].is_done:  # given up while it waited
            self.waiting.popleft()
        if not self.waiting or now < self.retry_at:
            return None
        if self.in_flight and (
            self.is_recovering or self.must_renumber or self.identity.producer_id != self.known_producer_id
        ):
            return None
        return self.waiting[0]

    def depart(self, identity: Identity | None) -> Batch:
        """Take the next batch out, numbered under `identity` when the producer is idempotent."""
        batch = self.waiting.popleft()
        if identity is not None:
            self._number(batch, identity)
        batch.attempts += 1
        self.in_flight.append(batch)
        return batch

    def _number(self, batch: Batch, identity: Identity) -> None:
        if self.must_renumber:  # nothing is in flight: all that waits is numbered anew
            for later in self.waiting:
                later.number(NO_IDENTITY, NO_SEQUENCE)
            batch.number(NO_IDENTITY, NO_SEQUENCE)
            self.must_renumber = False
            self.identity = NO_IDENTITY
        if batch.sequence != NO_SEQUENCE:
            return
        if self.identity != identity and not self.in_flight:
            self.identity = identity
            self.next_sequence = 0
        batch.number(self.identity, self.next_sequence)
        self.next_sequence = (self.next_sequence + batch.records_count) % SEQUENCES

    def arrived(self, batch: Batch) -> None:
        """The broker has it."""
        self.in_flight.remove(batch)
        self.known_producer_id = batch.identity.producer_id
        self.backoff = None
        if not self.waiting or not self.waiting[0].attempts:
            self.is_recovering = False

    def refused(self, batch: Batch) -> None:
        """The broker will never have it."""
        self.in_flight.remove(batch)

    def come_back(self, batch: Batch, retry_at: float) -> None:
        """Put a batch back to its place among those that wait: before all that were sent after it."""
        self.in_flight.remove(batch)
        self.put_back(batch)
        self.is_recovering = True
        self.retry_at = max(self.retry_at, retry_at)

    def put_back(self, batch: Batch) -> None:
        waiting = self.waiting
        place = 0
        while place < len(waiting) and waiting[place].attempts and waiting[place].serial < batch.serial:
            place += 1
        waiting.insert(place, batch)

    def is_oldest(self, batch: Batch) -> bool:
        """Whether nothing that was sent before it is still undecided."""
        others = [other for other in self.in_flight if other is not batch and not other.is_done]
        others += (other for other in self.waiting if other.attempts)
        return all(batch.serial < other.serial for other in others)

    def begin_anew(self) -> None:
        """The broker does not follow our numbers any more: the next identity starts from nought."""
        self.must_renumber = True
        self.known_producer_id = NO_IDENTITY.producer_id

    def unfinished(self) -> list[Batch]:
        batches = [*self.in_flight, *self.waiting]
        return batches if self.open is None else [*batches, self.open]
