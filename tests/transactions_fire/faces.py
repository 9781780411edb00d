"""Transactional producers of two libraries under one face, for workloads.

confluent-kafka speaks transactions v1, our own client v2. What a transaction's end answered is one of three:
it holds, it was undone, or nobody knows (`Unknown`); after the last only another producer goes on.
"""

import time

from confluent_kafka import KafkaException, Producer, TopicPartition

from distributedlog.client import ClientError
from distributedlog.client import TopicPartition as OurTopicPartition
from distributedlog.client.errors import ProducerFenced
from distributedlog.client.group_metadata import GroupMetadata
from distributedlog.client.producer.producer import Producer as OurProducer

SECONDS_MAX = 30
#: For one call of librdkafka, and for a step with all its repetitions.
STEP_SECONDS = 2
PATIENCE_SECONDS = 5
QUICK = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "retry.backoff.ms": 10,
         "retry.backoff.max.ms": 50, "log_level": 0}  # fmt: skip
FENCED = frozenset({"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"})


class Undone(Exception):
    """The transaction will not hold: it has to be aborted, or was."""


class Unknown(Exception):
    """What became of the transaction is not known, and this producer is of no more use."""


class Fenced(Unknown):
    """Because another has taken over."""


class Confluent:
    """librdkafka: AddPartitionsToTxn first, the epoch stays the same."""

    def __init__(self, bootstrap, transactional_id, timeout_ms):
        settings = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, **QUICK}
        settings |= {"transaction.timeout.ms": timeout_ms, "linger.ms": 0, "message.timeout.ms": timeout_ms}
        self._producer = Producer(settings)
        self._repeat(self._producer.init_transactions, STEP_SECONDS)

    def _repeat(self, step, *arguments):
        """As long as it says that it may be repeated. After a while this producer is given up: what it
        has open is ended by the next one of its id."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return step(*arguments)
            except KafkaException as failure:
                error = failure.args[0]
                if error.name() in FENCED:
                    raise Fenced(error.str()) from None
                if error.txn_requires_abort():
                    raise Undone(error.str()) from None
                if error.fatal() or not error.retriable() or time.monotonic() > deadline:
                    raise Unknown(error.str()) from None

    def begin(self):
        self._repeat(self._producer.begin_transaction)

    def send(self, topic, partition, value, acknowledged):
        def on_delivery(error, message):
            if error is None:
                acknowledged(message.offset())

        def step():
            self._producer.produce(topic, value.encode(), partition=partition, on_delivery=on_delivery)

        self._repeat(step)

    def flush(self):
        self._repeat(self._producer.flush, SECONDS_MAX)

    def send_offsets(self, offsets, group_metadata):
        """Offsets by topic and partition; the metadata are the consumer's own."""
        places = [TopicPartition(*place, offset) for place, offset in offsets.items()]
        self._repeat(self._producer.send_offsets_to_transaction, places, group_metadata, STEP_SECONDS)

    def commit(self):
        self._repeat(self._producer.commit_transaction, STEP_SECONDS)

    def abort(self):
        self._repeat(self._producer.abort_transaction, STEP_SECONDS)

    def close(self):
        self._producer = None


class Ours:
    """Transactions v2: writing adds the partition, each transaction has its own epoch."""

    def __init__(self, bootstrap, transactional_id, timeout_ms):
        self._producer = OurProducer(
            bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            linger_ms=0,
            delivery_timeout_ms=timeout_ms,
            retry_backoff_ms=10,
            retry_backoff_max_ms=50,
        )
        try:
            self._do(self._producer.init_transactions)
        except Unknown:
            self.close()
            raise

    def _do(self, step, *arguments, otherwise=Unknown):
        try:
            return step(*arguments)
        except ProducerFenced as error:
            raise Fenced(str(error)) from None
        except ClientError as error:
            raise otherwise(str(error)) from None

    def begin(self):
        self._transaction = self._producer.transaction()
        self._do(self._transaction.__enter__)

    def send(self, topic, partition, value, acknowledged):
        def on_delivery(metadata, error):
            if error is None:
                acknowledged(metadata.offset)

        def step():
            self._producer.send(topic, value.encode(), partition=partition, on_delivery=on_delivery)

        self._do(step, otherwise=Undone)

    def flush(self):
        self._do(self._producer.flush, otherwise=Undone)

    def send_offsets(self, offsets, group):
        places = {OurTopicPartition(*place): offset for place, offset in offsets.items()}
        self._do(self._transaction.send_offsets, places, GroupMetadata(group), otherwise=Undone)

    def commit(self):
        self._do(self._transaction.__exit__, None, None, None)

    def abort(self):
        self._do(self._transaction.abort)

    def close(self):
        self._producer.close(SECONDS_MAX)


FACES = {"confluent": Confluent, "ours": Ours}
