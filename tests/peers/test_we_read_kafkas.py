"""Directories that a real Kafka broker wrote, through our eyes."""

import shutil
import threading
import time

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from distributedlog.log import LogConfig, LogDirectory
from distributedlog.log.inspect import inspect
from distributedlog.log.inspect_events import (
    AbortedTransactionEntry,
    BatchSeen,
    Finding,
    LeaderEpochEntry,
    OffsetIndexEntry,
    PartitionSummary,
    ProducerEntry,
    RecordSeen,
    Severity,
    TimeIndexEntry,
)
from distributedlog.records import Compression, iterate_records
from kafka_peer import KafkaBroker
from partition_files import Segment, batch, marker, write_partition

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BASE_TIMESTAMP = 1_600_000_000_000
COMPACTION_SECONDS_MAX = 60


def value_of(number):
    """A few hundred bytes that compress, but not to nothing."""
    return b"".join(b"%d," % (number * factor) for factor in range(60))


def produce_by_librdkafka(broker, expected):
    """librdkafka, each codec into the same partition, with keys, headers, nulls and times that go back."""
    for codec in CODECS:
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap, "compression.type": codec, "linger.ms": 20,
             "batch.size": 30_000}
        )  # fmt: skip
        for number in range(1500):
            record = (
                BASE_TIMESTAMP + number * 10 - (5000 if number % 7 == 0 else 0),
                None if number % 5 == 0 else b"key-%d" % number,
                None if number % 11 == 0 else value_of(number),
                (("codec", codec.encode()), ("nothing", None)) if number % 3 == 0 else (),
            )
            producer.produce(
                "codecs", partition=0, timestamp=record[0], key=record[1], value=record[2],
                headers=list(record[3]),
            )  # fmt: skip
            expected.append(record)
        producer.flush(30)


def produce_by_kafka_python(broker, expected):
    for codec in CODECS:
        producer = KafkaProducer(
            bootstrap_servers=broker.bootstrap,
            compression_type=None if codec == "none" else codec,
            linger_ms=20,
        )
        for number in range(200):
            record = (BASE_TIMESTAMP + number, b"%d" % number, value_of(number), (("h", b"v"),))
            producer.send(
                "codecs", partition=0, timestamp_ms=record[0], key=record[1], value=record[2],
                headers=list(record[3]),
            )  # fmt: skip
            expected.append(record)
        producer.close(timeout=30)


def produce_transactions(broker, expected):
    """Two producers at once; every third transaction is aborted. `expected` gets (key, is_aborted)."""
    producers = []
    for name in ("one", "two"):
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
        producer.init_transactions(30)
        producers.append(producer)
    for number in range(12):
        for index, producer in enumerate(producers):
            producer.begin_transaction()
            for part in range(4):
                key = b"%d-%d-%d" % (index, number, part)
                producer.produce("transactions", partition=0, key=key, value=value_of(part))
            producer.flush(30)
        for index, producer in enumerate(producers):
            is_aborted = (number + index) % 3 == 0
            producer.abort_transaction(30) if is_aborted else producer.commit_transaction(30)
            expected.update({b"%d-%d-%d" % (index, number, part): is_aborted for part in range(4)})


def produce_to_be_compacted(broker):
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "batch.size": 20_000})
    for number in range(6000):
        value = None if number % 1000 == 3 else value_of(number)
        producer.produce("compacted", partition=0, key=b"key-%d" % (number % 40), value=value)
        if number % 500 == 0:
            producer.flush(30)
    producer.flush(30)
    deadline = time.monotonic() + COMPACTION_SECONDS_MAX
    checkpoint = broker.log_directory / "cleaner-offset-checkpoint"
    while not (checkpoint.exists() and "compacted" in checkpoint.read_text()):
        assert time.monotonic() < deadline, "Kafka did not compact the topic"
        threading.Event().wait(0.2)


class Written:
    """What was produced, and where the broker's files are: copied while it ran, and after its clean stop."""

    def __init__(self, while_running, after_stop, records, transactions):
        self.while_running = while_running
        self.after_stop = after_stop
        self.records = records
        self.transactions = transactions


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kafka")
    records, transactions = [], {}
    config = {"log_cleaner_backoff_ms": 200, "log_initial_task_delay_ms": 200, "log_cleaner_enable": "true"}
    with KafkaBroker(directory, **config) as broker:
        broker.create_topic("codecs")
        broker.create_topic("transactions")
        broker.create_topic("append-time", message_timestamp_type="LogAppendTime")
        broker.create_topic("compacted", cleanup_policy="compact", min_cleanable_dirty_ratio=0.01)
        produce_by_librdkafka(broker, records)
        produce_by_kafka_python(broker, records)
        produce_transactions(broker, transactions)
        producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": "zstd"})
        for number in range(50):
            producer.produce("append-time", partition=0, value=value_of(number), timestamp=5)
        producer.flush(30)
        produce_to_be_compacted(broker)
        while_running = directory / "while-running"
        shutil.copytree(broker.log_directory, while_running)
        broker.stop()
    return Written(while_running, broker.log_directory, records, transactions)


def damages(path, **options):
    return [
        event
        for event in inspect(path, **options)
        if isinstance(event, Finding) and event.severity is Severity.DAMAGE
    ]


def events_of(kind, path, **options):
    return [event for event in inspect(path, **options) if isinstance(event, kind)]


def test_a_cleanly_stopped_kafka_leaves_a_sound_directory(written):
    assert damages(written.after_stop, with_records=True) == []


def test_a_running_kafkas_directory_with_preallocated_indexes_is_sound(written):
    """Nothing was produced while it was copied; only its checkpoints may lag behind."""
    assert damages(written.while_running, with_records=True) == []


def test_every_record_is_read_as_it_was_produced(written):
    seen = events_of(RecordSeen, written.after_stop / "codecs-0", with_records=True)
    assert [event.record.offset for event in seen] == list(range(len(written.records)))
    assert [tuple(event.record[1:]) for event in seen] == written.records


def test_all_codecs_and_several_segments_were_there(written):
    directory = written.after_stop / "codecs-0"
    codecs = {event.header.compression for event in events_of(BatchSeen, directory)}
    assert codecs == set(Compression)
    (summary,) = events_of(PartitionSummary, directory)
    assert summary.segments >= 2
    assert events_of(OffsetIndexEntry, directory)
    assert events_of(TimeIndexEntry, directory)
    assert [event.epoch for event in events_of(LeaderEpochEntry, directory)] == [0]


def test_transactions_their_markers_and_the_aborted_ones_are_read(written):
    directory = written.after_stop / "transactions-0"
    aborted = events_of(AbortedTransactionEntry, directory)
    producer_of = {}
    is_aborted = {}
    for event in inspect(directory, with_records=True):
        if isinstance(event, BatchSeen):
            producer_id = event.header.producer_id
        elif isinstance(event, RecordSeen) and event.control is None:
            offset = event.record.offset
            producer_of[offset] = producer_id
            is_aborted[event.record.key] = any(
                entry.producer_id == producer_id and entry.first_offset <= offset < entry.last_offset
                for entry in aborted
            )
    assert is_aborted == written.transactions
    assert len(aborted) == 8
    snapshots = events_of(ProducerEntry, directory)
    assert {event.producer_id for event in snapshots} == set(producer_of.values())


def test_append_time_is_the_brokers(written):
    directory = written.after_stop / "append-time-0"
    headers = [event.header for event in events_of(BatchSeen, directory)]
    seen = events_of(RecordSeen, directory, with_records=True)
    assert {header.timestamp_type for header in headers} == {1}
    assert {event.record.timestamp for event in seen} == {header.max_timestamp for header in headers}


def test_a_compacted_partition_is_sound_and_its_gaps_are_no_damage(written):
    directory = written.after_stop / "compacted-0"
    (summary,) = events_of(PartitionSummary, directory)
    assert summary.log_end_offset == 6000
    assert summary.records < 6000
    assert damages(directory, with_records=True) == []


def test_kafkas_own_topics_are_sound(written):
    names = {path.name for path in written.after_stop.iterdir() if path.is_dir()}
    assert {"__transaction_state-0", "__cluster_metadata-0"} <= names
    for name in names:
        assert damages(written.after_stop / name, with_records=True) == []


def records_of(log):
    """As a consumer reads: a region, its whole batches, on from behind the last record."""
    offset = 0
    while (region := log.read(offset, 100_000)) is not None:
        for record in iterate_records(region.read(), offset):
            yield record
            offset = record.offset + 1


@pytest.mark.parametrize("state", ["after_stop", "while_running"])
def test_our_engine_opens_what_kafka_wrote(written, state, tmp_path):
    """After a clean stop without work, from a running broker's files by recovery; then it appends."""
    shutil.copytree(getattr(written, state), tmp_path / "data")
    count = len(written.records)
    with LogDirectory(tmp_path / "data") as directory:
        log = directory.open_log("codecs", 0, LogConfig())
        assert (log.log_start_offset, log.log_end_offset) == (0, count)
        assert directory.reports["codecs", 0].was_clean == (state == "after_stop")
        assert list(records_of(log)) == [(offset, *record) for offset, record in enumerate(written.records)]
        last_of_first_codec = BASE_TIMESTAMP + 1499 * 10
        first = next(n for n, record in enumerate(written.records) if record[0] >= last_of_first_codec)
        assert log.offset_for_timestamp(last_of_first_codec)[:2] == (last_of_first_codec, first)
        transactions = directory.open_log("transactions", 0, LogConfig())
        transactions.advance_high_watermark(transactions.log_end_offset)
        assert transactions.last_stable_offset == transactions.log_end_offset
        log.begin_leader_epoch(1)
        log.append(batch(0, [b"ours"]), leader_epoch=1, now_ms=1_700_000_000_000)
        assert log.log_end_offset == count + 1
    assert damages(tmp_path / "data" / "codecs-0", with_records=True) == []


def test_kafka_serves_a_directory_that_we_wrote(tmp_path, written):
    """The files of a stopped broker's partition are replaced by ours; started again, it serves those."""
    directory = tmp_path / "kafka"
    with KafkaBroker(directory) as broker:
        broker.create_topic("ours")
        broker.stop()
        partition = broker.log_directory / "ours-0"
        metadata = (partition / "partition.metadata").read_bytes()
        shutil.rmtree(partition)
        options = {"producer_epoch": 0, "is_transactional": True}
        segments = [
            Segment([batch(base, [b"value-%d" % base] * 5, compression=codec) for base, codec in
                     zip(range(0, 25, 5), Compression, strict=True)]),
            Segment(
                [batch(25, [b"kept"] * 2, producer_id=4001, base_sequence=0, **options),
                 batch(27, [b"aborted"] * 3, producer_id=4002, base_sequence=0, **options),
                 marker(30, 4002, 0), marker(31, 4001, 1)],
                aborted=[(4002, 27, 30, 25)],
            ),
        ]  # fmt: skip
        write_partition(partition, segments)
        (partition / "partition.metadata").write_bytes(metadata)
        broker.log_directory.joinpath("recovery-point-offset-checkpoint").write_text("0\n1\nours 0 32\n")
        broker.log_directory.joinpath("replication-offset-checkpoint").write_text("0\n1\nours 0 32\n")
        broker.start()
        consumer = KafkaConsumer(
            bootstrap_servers=broker.bootstrap, isolation_level="read_committed", enable_auto_commit=False
        )
        consumer.assign([TopicPartition("ours", 0)])
        consumer.seek_to_beginning()
        received = {}
        deadline = time.monotonic() + 30
        while len(received) < 27 and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=500).values():
                received.update({record.offset: (record.key, record.value) for record in records})
        consumer.close()
    expected = {offset: (b"key-%d" % offset, b"value-%d" % (offset // 5 * 5)) for offset in range(25)}
    expected |= {offset: (b"key-%d" % offset, b"kept") for offset in (25, 26)}
    assert received == expected
