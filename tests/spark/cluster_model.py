"""A model of what a cluster does for transactions, as far as the sink's protocol sees it.

Requests have effects that do not wait for anybody: a request may take effect and its answer get lost, it may
take effect long after the driver has given it up, or twice, or never.
"""

from dataclasses import dataclass, field

from distributedlog.spark.commit_record import CommitRecord


class Refused(Exception):
    """The coordinator's or a leader's refusal: an epoch that is over, or a state that does not fit."""


@dataclass
class Transaction:
    epoch: int
    rows: list = field(default_factory=list)
    record: CommitRecord | None = None


@dataclass
class Cluster:
    """One transactional id, one group. What is visible is what a reader of committed data sees."""

    epoch: int = 0
    open: Transaction | None = None
    visible: list = field(default_factory=list)
    record: CommitRecord = field(default_factory=CommitRecord)
    commits: int = 0

    def claim(self):
        """InitProducerId: the next epoch; an open transaction is aborted."""
        self.open = None
        self.epoch += 1
        return self.epoch

    def time_out(self):
        """The coordinator aborts what is open for too long, and fences the producer by an epoch (KIP-360)."""
        if self.open is not None:
            self.open = None
            self.epoch += 1

    def read_record(self):
        """OffsetFetch with require_stable: what open transactions have written is not there yet."""
        return self.record

    def add_partitions(self, epoch):
        self._check(epoch)
        if self.open is None:
            self.open = Transaction(epoch)

    def write(self, epoch, rows):
        """All produces of a transaction; sequences let each count once."""
        self._check(epoch)
        if self.open is None:
            raise Refused("the partition is not in a transaction")
        self.open.rows += [row for row in rows if row not in self.open.rows]

    def write_record(self, epoch, record):
        self._check(epoch)
        if self.open is None:
            raise Refused("the group is not in a transaction")
        self.open.record = record

    def commit(self, epoch):
        self._check(epoch)
        if self.open is None:
            return  # again: it was committed already, under the same epoch
        self.visible += self.open.rows
        if self.open.record is not None:
            self.record = self.open.record
        self.open = None
        self.commits += 1

    def _check(self, epoch):
        if epoch != self.epoch:
            raise Refused(f"epoch {epoch} is over, {self.epoch} counts")
