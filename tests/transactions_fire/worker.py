"""A process that writes transactions until it is told to stop, and writes down what it asked and was told.

    python -m tests.transactions_fire.worker transfer|pipe BOOTSTRAP CLIENT TRANSACTIONAL_ID SEED HISTORY

``transfer`` moves money between accounts: what one loses in one partition the other gets in another. A part
of the transfers is aborted. ``pipe`` reads `IN`, writes what it made of each record to `OUT`, and commits
how far it has read in the same transaction. It ends on SIGTERM, or with `FENCED` when another process has
its id; the test is free to kill and to pause it.

confluent-kafka's pipes are members of a group, who share the partitions; with our client, one reads all.
"""

import itertools
import os
import signal
import sys
from random import Random

from confluent_kafka import Consumer, KafkaException, TopicPartition
from tests.checkers.events import (
    Abort,
    Aborted,
    Assign,
    Begin,
    Commit,
    CommitOffsets,
    Committed,
    GroupOffsets,
    Poll,
    Send,
    Sent,
)
from tests.checkers.jsonlines import Recorder, now
from tests.transactions_fire.faces import FACES, QUICK, Confluent, Fenced, Undone, Unknown

BANK, IN, OUT = "bank", "in", "out"
PARTITIONS = 3
ACCOUNTS = 9
GROUP = "pipes"
FENCED = 3
TIMEOUT_MS = 10_000
ABORTED_SHARE = 0.2
READ_MAX = 20
SESSION_TIMEOUT_MS = 1_000


class Worker:
    """One producer after the other, under one transactional id."""

    def __init__(self, bootstrap, client, transactional_id, seed, path):
        self.bootstrap = bootstrap
        self.face = FACES[client]
        self.transactional_id = transactional_id
        self.process = f"{transactional_id}/{os.getpid()}"
        self.recorder = Recorder(self.process, path)
        self.chance = Random(seed)
        self.numbers = itertools.count()
        self.is_stopping = False

    def record(self, kind, *arguments, **named):
        return self.recorder.record(kind, *arguments, **named)

    def run(self):
        """Transactions until the end; a producer that lost track is replaced."""
        while not self.is_stopping:
            try:
                self.producer = self.face(self.bootstrap, self.transactional_id, TIMEOUT_MS)
            except Fenced:
                raise
            except Unknown:
                continue
            try:
                self.begin_anew()
                while not self.is_stopping:
                    self.transact()
            except Fenced:
                raise
            except Unknown:
                pass
            finally:
                self.producer.close()

    def begin_anew(self):
        """There is a new producer."""

    def transact(self):
        self.transaction = f"{self.process}/{next(self.numbers)}"
        self.producer.begin()
        self.record(Begin, self.transaction, self.transactional_id)
        try:
            wants_commit = self.fill()
            if wants_commit:
                self.record(Commit, self.transaction)
                self.producer.commit()
                self.record(Committed, self.transaction)
                return
        except Undone:
            pass
        self.record(Abort, self.transaction)
        self.producer.abort()
        self.record(Aborted, self.transaction)
        self.undone()

    def fill(self):
        """Write the transaction; whether it is to be committed."""
        raise NotImplementedError

    def undone(self):
        """The transaction was aborted."""

    def send(self, topic, partition, value, effect=None):
        place = f"{topic}-{partition}"
        self.record(Send, place, value, self.transaction, effect)
        self.producer.send(topic, partition, value, lambda offset: self.record(Sent, place, value, offset))


class Transfer(Worker):
    def fill(self):
        payer, payee = self.chance.sample(range(ACCOUNTS), 2)
        amount = self.chance.randrange(1, 100)
        for step in range(self.chance.randrange(1, 4)):
            self._post(step, payer, -amount)
            if self.chance.random() < 0.3:
                self.producer.flush()
            self._post(step, payee, amount)
        return self.chance.random() >= ABORTED_SHARE

    def _post(self, step, account, amount):
        value = f"{self.transaction}.{step}:{account}:{amount:+}"
        self.send(BANK, account % PARTITIONS, value)


class Pipe(Worker):
    """``positions`` are the next offsets of `IN`, by partition; None until they have been asked for."""

    def begin_anew(self):
        settings = {
            "bootstrap.servers": self.bootstrap,
            "group.id": GROUP,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": SESSION_TIMEOUT_MS,
            "heartbeat.interval.ms": 100,
            "fetch.wait.max.ms": 20,
            **QUICK,
        }
        self.positions = {}
        self.is_lost = True
        self.is_member = self.face is Confluent
        if self.consumer is not None:
            self.consumer.close()
        self.consumer = Consumer(settings)
        if self.is_member:
            self.consumer.subscribe([IN], on_assign=self._assigned, on_revoke=self._revoked)
        else:
            self._begin_at_committed([TopicPartition(IN, index) for index in range(PARTITIONS)])

    def run(self):
        self.consumer = None
        try:
            super().run()
        finally:
            if self.consumer is not None:
                self.consumer.close()

    def transact(self):
        if self.is_member and self.is_lost and self.consumer.assignment():
            self._begin_at_committed(self.consumer.assignment())
        since = now()
        messages = self.consumer.consume(self.chance.randrange(1, READ_MAX), 0.05)
        self.batch = [message for message in messages if message.error() is None]
        if self.batch and not self.is_lost:
            self.since = since
            super().transact()

    def fill(self):
        records = {}
        for message in self.batch:
            records.setdefault(f"{IN}-{message.partition()}", []).append(
                (message.offset(), message.value().decode())
            )
        self.record(Poll, self.since, records, self.transaction)
        for message in self.batch:
            source = message.value().decode()
            value = f"{source}>{self.transaction}"
            self.send(OUT, self.chance.randrange(PARTITIONS), value, effect=f"of {source}")
        offsets = {message.partition(): message.offset() + 1 for message in self.batch}
        named = {f"{IN}-{index}": offset for index, offset in offsets.items()}
        self.record(CommitOffsets, self.transaction, GROUP, named)
        group = self.consumer.consumer_group_metadata() if self.is_member else GROUP
        self.producer.send_offsets({(IN, index): offset for index, offset in offsets.items()}, group)
        return self.chance.random() >= ABORTED_SHARE

    def undone(self):
        if self.is_member:
            self.is_lost = True
        else:
            self._begin_at_committed([TopicPartition(IN, index) for index in range(PARTITIONS)])

    def _assigned(self, consumer, partitions):
        self.is_lost = True
        consumer.assign(partitions)

    def _revoked(self, consumer, partitions):
        self.is_lost = True
        consumer.unassign()

    def _begin_at_committed(self, partitions):
        """Go on where the group's transactions left off."""
        since = now()
        try:
            found = self.consumer.committed(partitions, 5)
        except KafkaException:
            self.is_lost = True
            if not self.is_member:
                raise Unknown("the committed offsets could not be read") from None
            return
        if any(each.error for each in found):
            raise Unknown("the committed offsets could not be read")
        told = {f"{IN}-{each.partition}": max(each.offset, -1) for each in found}
        self.record(GroupOffsets, since, GROUP, told)
        starts = [TopicPartition(IN, each.partition, max(each.offset, 0)) for each in found]
        self.consumer.assign(starts)
        self.record(Assign, {f"{IN}-{each.partition}": each.offset for each in starts})
        self.is_lost = False


ROLES = {"transfer": Transfer, "pipe": Pipe}


def main(role, bootstrap, client, transactional_id, seed, path):
    worker = ROLES[role](bootstrap, client, transactional_id, int(seed), path)

    def stop(*_):
        worker.is_stopping = True

    signal.signal(signal.SIGTERM, stop)
    try:
        worker.run()
    except Fenced:
        return FENCED
    return 0


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
