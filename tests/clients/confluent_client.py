"""confluent-kafka (librdkafka)."""

import contextlib
import logging

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from tests.clients.face import DEADLINE_SECONDS, HEARTBEAT_MS, RETRY_MS, Consumed, Refused, Seen

#: Transport errors, which librdkafka repairs itself.
PASSING = {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._RESOLVE}
QUIET = logging.getLogger("librdkafka")
COMMON = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "retry.backoff.ms": RETRY_MS,
    "retry.backoff.max.ms": 50,
    "log_level": 0,
}
#: Settings of `consume` under which a large batch exceeds every limit.
SMALL_FETCHES = {"fetch.max.bytes": 1000, "message.max.bytes": 1000, "max.partition.fetch.bytes": 1000}


def producer(bootstrap, **settings):
    return Producer({"bootstrap.servers": bootstrap, **COMMON, **settings}, logger=QUIET)


def produce(bootstrap, topic, records, *, partition=0, codec=None, acks="all", request_bytes_max=1_100_000):
    """The offset that was told for each record."""
    settings = {"acks": acks, "compression.type": codec or "none", "message.max.bytes": request_bytes_max}
    sender = producer(bootstrap, **{"linger.ms": 20, **settings})
    told = {}

    def on_delivery(number):
        def delivered(error, message):
            told[number] = error or message.offset()

        return delivered

    for number, record in enumerate(records):
        sender.produce(
            topic,
            record.value,
            record.key,
            partition,
            headers=list(record.headers),
            timestamp=record.timestamp_ms or 0,
            on_delivery=on_delivery(number),
        )
    assert sender.flush(DEADLINE_SECONDS) == 0
    for outcome in told.values():
        if isinstance(outcome, KafkaError):
            raise Refused(outcome.code(), outcome.str())
    return [told[number] for number in range(len(told))]


def consumer(bootstrap, group="unused", **settings):
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
            **COMMON,
            **settings,
        },
        logger=QUIET,
    )


def consume(bootstrap, topic, count, *, partition=0, offset=0, **settings):
    """So many records of a partition, from an offset on."""
    reader = consumer(bootstrap, **settings)
    reader.assign([TopicPartition(topic, partition, offset)])
    found = []
    while len(found) < count:
        messages = reader.consume(count - len(found), DEADLINE_SECONDS)
        assert messages, f"only {len(found)} of {count} records came"
        found += [_consumed(message) for message in messages]
    reader.close()
    return found


def _consumed(message):
    if message.error():
        raise Refused(message.error().code(), message.error().str())
    kind, timestamp_ms = message.timestamp()
    return Consumed(
        message.offset(),
        message.value(),
        message.key(),
        tuple(message.headers() or ()),
        timestamp_ms,
        kind == TIMESTAMP_LOG_APPEND_TIME,
    )


def offset_for_time(bootstrap, topic, timestamp_ms, partition=0):
    """Of the first record of this time or later; None when there is none."""
    reader = consumer(bootstrap)
    [found] = reader.offsets_for_times([TopicPartition(topic, partition, timestamp_ms)], DEADLINE_SECONDS)
    reader.close()
    return found.offset if found.offset >= 0 else None


class Member(Seen):
    """Does something only in `turn`, in the test's thread; librdkafka heartbeats by itself."""

    def __init__(self, bootstrap, membership):
        super().__init__()
        settings = {"topic.metadata.refresh.interval.ms": 100}
        if membership.instance_id:
            settings["group.instance.id"] = membership.instance_id
        if membership.is_new_protocol:
            settings["group.protocol"] = "consumer"
            if membership.assignor:
                settings["group.remote.assignor"] = membership.assignor
        else:
            settings["session.timeout.ms"] = membership.session_timeout_ms
            settings["heartbeat.interval.ms"] = HEARTBEAT_MS
            settings["partition.assignment.strategy"] = membership.assignor or "range"
        self._consumer = consumer(bootstrap, membership.group, **settings)
        topics = [f"^{membership.pattern}"] if membership.pattern else list(membership.topics)
        self._consumer.subscribe(topics, on_assign=self._on_assign)

    def _on_assign(self, _, __):
        self.assignments += 1

    def turn(self):
        for message in self._consumer.consume(500, 0.02):
            error = message.error()
            if error is None:
                self.records.append((message.topic(), message.partition(), message.offset(), message.value()))
            elif error.code() not in PASSING and not error.retriable():
                raise Refused(error.code(), error.str())

    @property
    def partitions(self):
        return {(each.topic, each.partition) for each in self._consumer.assignment()}

    def commit(self, offsets, metadata=""):
        """``offsets`` by (topic, partition)."""
        self._consumer.commit(
            offsets=[
                TopicPartition(topic, partition, offset, metadata)
                for (topic, partition), offset in offsets.items()
            ],
            asynchronous=False,
        )

    def committed(self, topic, partition):
        """(offset, metadata), or None where nothing was committed."""
        [found] = self._consumer.committed([TopicPartition(topic, partition)], DEADLINE_SECONDS)
        return (found.offset, found.metadata or "") if found.offset >= 0 else None

    def close(self):
        with contextlib.suppress(KafkaException):
            self._consumer.close()
