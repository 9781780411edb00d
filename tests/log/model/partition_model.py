"""What a partition's log is to its users, in a few lists: no files, no segments, no indexes.

The model keeps every batch since the log was last emptied, also those that retention took away, because
producers stay known when their records are gone. Everything it answers, it finds by walking over all of it.
"""

from dataclasses import dataclass, field

SEQUENCES = 2**31


@dataclass
class ModelBatch:
    """One batch as it must stand in the log, byte for byte."""

    data: bytes
    base_offset: int
    last_offset: int
    leader_epoch: int
    #: (timestamp, offset), in order
    records: list[tuple[int, int]]
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    #: None, "commit" or "abort"
    marker: str | None = None
    coordinator_epoch: int = -1

    @property
    def max_timestamp(self):
        return max(timestamp for timestamp, _ in self.records)


@dataclass
class ModelProducer:
    epoch: int = -1
    #: (first sequence, last sequence, first offset, last offset)
    batches: list[tuple[int, int, int, int]] = field(default_factory=list)
    coordinator_epoch: int = -1
    transaction_start: int = -1

    @property
    def last_sequence(self):
        return self.batches[-1][1] if self.batches else -1


@dataclass(frozen=True)
class Aborted:
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class PartitionModel:
    def __init__(self):
        self.start_over(0)

    def start_over(self, offset):
        """The log was emptied and goes on at this offset."""
        self.batches: list[ModelBatch] = []
        self.log_start_offset = offset
        self.log_end_offset = offset
        self.high_watermark = offset
        self.epochs: list[tuple[int, int]] = []

    # -- changes ------------------------------------------------------------------------------------

    def add(self, batch):
        self.begin_epoch(batch.leader_epoch, batch.base_offset)
        self.batches.append(batch)
        self.log_end_offset = batch.last_offset + 1

    def begin_epoch(self, epoch, start_offset):
        if epoch > self.latest_epoch:
            self.epochs = [entry for entry in self.epochs if entry[1] < start_offset]
            self.epochs.append((epoch, start_offset))

    def truncate_to(self, offset):
        """Whole batches go."""
        for batch in self.batches:
            if batch.last_offset >= offset:
                offset = min(offset, batch.base_offset)
                break
        self.batches = [batch for batch in self.batches if batch.base_offset < offset]
        self.set_end(offset)

    def set_end(self, offset):
        self.log_end_offset = offset
        self.high_watermark = min(self.high_watermark, offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        self.epochs = [entry for entry in self.epochs if entry[1] < offset]

    def raise_log_start_offset(self, offset):
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        gone = [entry for entry in self.epochs if entry[1] <= offset]
        if gone:
            self.epochs = [(gone[-1][0], offset)] + [entry for entry in self.epochs if entry[1] > offset]

    # -- reading ------------------------------------------------------------------------------------

    def batches_from(self, offset, upper_offset):
        """Whole batches that a reader of offsets from the one up to the other gets."""
        found = []
        for batch in self.batches:
            if batch.last_offset >= upper_offset:
                break
            if batch.last_offset >= offset:
                found.append(batch)
        return found

    def records(self, upper_offset):
        """(timestamp, offset, leader epoch) of all that is left, control records too, as in Kafka."""
        for batch in self.batches:
            for timestamp, offset in batch.records:
                if self.log_start_offset <= offset < upper_offset:
                    yield timestamp, offset, batch.leader_epoch

    def offset_for_timestamp(self, timestamp, upper_offset):
        return next((record for record in self.records(upper_offset) if record[0] >= timestamp), None)

    def offset_of_max_timestamp(self, upper_offset):
        return max(self.records(upper_offset), key=lambda record: (record[0], -record[1]), default=None)

    # -- leader epochs ------------------------------------------------------------------------------

    @property
    def latest_epoch(self):
        return self.epochs[-1][0] if self.epochs else -1

    def end_offset_for(self, epoch):
        if epoch < 0 or epoch > self.latest_epoch:
            return (-1, -1)
        if epoch == self.latest_epoch:
            return (epoch, self.log_end_offset)
        known = [entry[0] for entry in self.epochs if entry[0] <= epoch]
        end = next(start for later, start in self.epochs if later > epoch)
        return (known[-1] if known else epoch, end)

    # -- producers and transactions -----------------------------------------------------------------

    def producers(self):
        """State of all producers, by a replay of everything."""
        producers: dict[int, ModelProducer] = {}
        for batch in self.batches:
            if batch.producer_id < 0:
                continue
            producer = producers.setdefault(batch.producer_id, ModelProducer())
            if producer.epoch != batch.producer_epoch:
                producer.epoch = batch.producer_epoch
                producer.batches = []
            if batch.marker is not None:
                producer.coordinator_epoch = batch.coordinator_epoch
                producer.transaction_start = -1
                continue
            last_sequence = (batch.base_sequence + batch.last_offset - batch.base_offset) % SEQUENCES
            producer.batches.append(
                (batch.base_sequence, last_sequence, batch.base_offset, batch.last_offset)
            )
            if batch.is_transactional and producer.transaction_start < 0:
                producer.transaction_start = batch.base_offset
        return producers

    def transactions(self):
        """(producer id, first offset, the marker's batch or None while it is open), by first offset."""
        opened: dict[int, int] = {}
        found = []
        for batch in self.batches:
            if batch.marker is not None:
                if batch.producer_id in opened:
                    found.append((batch.producer_id, opened.pop(batch.producer_id), batch))
            elif batch.is_transactional:
                opened.setdefault(batch.producer_id, batch.base_offset)
        found += [(producer_id, first, None) for producer_id, first in opened.items()]
        return sorted(found, key=lambda transaction: transaction[1])

    def last_stable_offset(self):
        unstable = [
            first
            for _, first, marker in self.transactions()
            if marker is None or marker.base_offset >= self.high_watermark
        ]
        return max(min([self.high_watermark, *unstable]), self.log_start_offset)

    def last_stable_offset_at_most(self):
        """After a restart only what is still open is sure to be known; decided is as good as replicated."""
        unstable = [first for _, first, marker in self.transactions() if marker is None]
        return max(min([self.high_watermark, *unstable]), self.log_start_offset)

    def aborted(self, from_offset):
        """Those whose markers stand at this offset or later."""
        transactions = self.transactions()
        found = []
        for producer_id, first, marker in transactions:
            if marker is None or marker.marker != "abort" or marker.base_offset < from_offset:
                continue
            at = marker.base_offset
            others = [
                other_first
                for other_id, other_first, other in transactions
                if other_first < at
                and (other_id, other_first) != (producer_id, first)
                and (other is None or other.base_offset > at)
            ]
            found.append(Aborted(producer_id, first, at, min(others, default=at + 1)))
        return sorted(found, key=lambda aborted: aborted.last_offset)
