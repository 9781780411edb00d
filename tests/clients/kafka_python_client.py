"""kafka-python."""

import contextlib
import queue
import threading
from concurrent.futures import Future

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata
from kafka.util import Timer
from tests.clients.face import DEADLINE_SECONDS, HEARTBEAT_MS, RETRY_MS, Consumed, Refused, Seen

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
ACKS = {"0": 0, "1": 1, "all": "all"}
COMMON = {
    "reconnect_backoff_ms": 10,
    "reconnect_backoff_max_ms": 50,
    "retry_backoff_ms": RETRY_MS,
    "metrics_enabled": False,
}
#: Settings of `consume` under which a large batch exceeds every limit.
SMALL_FETCHES = {"fetch_max_bytes": 1000, "max_partition_fetch_bytes": 1000}


def produce(bootstrap, topic, records, *, partition=0, codec=None, acks="all", request_bytes_max=1_100_000):
    """The offset that was told for each record."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        acks=ACKS[acks],
        enable_idempotence=acks == "all",
        compression_type=codec,
        linger_ms=20,
        max_request_size=request_bytes_max,
        **COMMON,
    )
    try:
        waiting = [
            producer.send(
                topic,
                record.value,
                key=record.key,
                headers=list(record.headers),
                partition=partition,
                timestamp_ms=record.timestamp_ms,
            )
            for record in records
        ]
        return [future.get(DEADLINE_SECONDS).offset for future in waiting]
    except KafkaError as error:
        raise Refused(error.errno, str(error)) from error
    finally:
        producer.close(DEADLINE_SECONDS)


def consume(bootstrap, topic, count, *, partition=0, offset=0, **settings):
    """So many records of a partition, from an offset on."""
    reader = KafkaConsumer(
        bootstrap_servers=bootstrap, auto_offset_reset="none", fetch_max_wait_ms=50, **COMMON, **settings
    )
    place = TopicPartition(topic, partition)
    reader.assign([place])
    reader.seek(place, offset)
    found = []
    while len(found) < count:
        records = reader.poll(DEADLINE_SECONDS * 1000, max_records=count - len(found))
        assert records, f"only {len(found)} of {count} records came"
        found += [_consumed(record) for record in records[place]]
    reader.close()
    return found


def _consumed(record):
    return Consumed(
        record.offset,
        record.value,
        record.key,
        tuple(record.headers),
        record.timestamp,
        record.timestamp_type == 1,
    )


def offset_for_time(bootstrap, topic, timestamp_ms, partition=0):
    """Of the first record of this time or later; None when there is none."""
    reader = KafkaConsumer(bootstrap_servers=bootstrap, **COMMON)
    place = TopicPartition(topic, partition)
    found = reader.offsets_for_times({place: timestamp_ms})[place]
    reader.close()
    return found and found.offset


class _Listener(ConsumerRebalanceListener):
    def __init__(self, member):
        self._member = member

    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, assigned):
        self._member.assignments += 1


class Member(Seen):
    """Polls in a thread of its own: a poll that joins waits for the other members.

    Each turn gives the group all the time it needs, and records a moment. With a short time for both, as
    `poll` has it, the library throws away what a join brings that ends between two polls, joins anew, and if
    it leads the group, everybody does: for ever, where members are polled in turn.
    """

    def __init__(self, bootstrap, membership):
        super().__init__()
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=membership.group,
            group_instance_id=membership.instance_id,
            session_timeout_ms=membership.session_timeout_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            partition_assignment_strategy=(ASSIGNORS[membership.assignor or "range"],),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=50,
            metadata_max_age_ms=100,
            **COMMON,
        )
        listener = _Listener(self)
        if membership.pattern:
            self._consumer.subscribe(pattern=membership.pattern, listener=listener)
        else:
            self._consumer.subscribe(list(membership.topics), listener=listener)
        # It refreshes its metadata. Else it may join before it knows its topics, and again when it does.
        self._consumer.topics()
        self._calls = queue.SimpleQueue()
        self._has_turned = threading.Event()
        self._is_closing = False
        self._failure = None
        self._thread = threading.Thread(target=self._work, name="kafka-python member")
        self._thread.start()

    def _work(self):
        try:
            while not self._is_closing:
                self._poll()
                self._has_turned.set()
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
            self._failure = error

    def _poll(self):
        with contextlib.suppress(queue.Empty):
            while True:
                call, result = self._calls.get_nowait()
                try:
                    result.set_result(call())
                except KafkaError as error:
                    result.set_exception(Refused(error.errno, str(error)))
        # What `poll` does until it has records or its time is over. It does not wait longer for records than
        # to the next heartbeat.
        for place, records in self._consumer._poll_once(Timer(DEADLINE_SECONDS * 1000), 500).items():
            for record in records:
                self.records.append((place.topic, place.partition, record.offset, record.value))

    def turn(self):
        self._has_turned.wait(0.02)
        self._has_turned.clear()
        if self._failure is not None:
            raise self._failure

    def _call(self, call):
        """In the member's thread."""
        result = Future()
        self._calls.put((call, result))
        return result.result(DEADLINE_SECONDS)

    @property
    def partitions(self):
        return {(each.topic, each.partition) for each in self._consumer.assignment() or ()}

    def commit(self, offsets, metadata=""):
        """``offsets`` by (topic, partition)."""
        places = {
            TopicPartition(*place): OffsetAndMetadata(offset, metadata, -1)
            for place, offset in offsets.items()
        }
        self._call(lambda: self._consumer.commit(places))

    def committed(self, topic, partition):
        """(offset, metadata), or None where nothing was committed."""
        place = TopicPartition(topic, partition)
        found = self._call(lambda: self._consumer.committed(place, metadata=True))
        return found and (found.offset, found.metadata)

    def close(self):
        self._is_closing = True
        self._thread.join(DEADLINE_SECONDS)
        self._consumer.close()
