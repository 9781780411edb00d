"""Kafka's DumpLogSegments on directories that we wrote."""

import pytest

from distributedlog import Log
from distributedlog.cli.log_verify import verify
from distributedlog.log import AppendOrigin, LogConfig, LogDirectory
from distributedlog.log.inspect import inspect
from distributedlog.log.inspect_events import RecordSeen
from distributedlog.log.truncation import truncate_to
from distributedlog.records import Compression
from kafka_peer import complaints, dump_log_segments, dumped_records
from partition_files import batch, marker, sample_partition


def ours(directory):
    """The records as (offset, timestamp, key, value, header names, marker)."""
    for event in inspect(directory, with_records=True):
        if isinstance(event, RecordSeen):
            record = event.record
            if event.control is not None:
                yield record.offset, record.timestamp, None, None, (), event.control.upper()
            else:
                key = None if record.key is None else record.key.decode()
                value = None if record.value is None else record.value.decode()
                yield record.offset, record.timestamp, key, value, tuple(n for n, _ in record.headers), None


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    directory = sample_partition(tmp_path_factory.mktemp("ours") / "topic-0")
    return directory, dump_log_segments(directory)


def test_kafka_has_no_complaints_about_hand_written_files(sample):
    assert complaints(sample[1]) == []


def test_kafka_reads_the_same_records(sample):
    directory, dumped = sample
    kafkas = records_of(dumped)
    assert kafkas == list(ours(directory))
    assert len(kafkas) == 229


def records_of(dumped):
    return [
        (record.offset, record.timestamp, record.key, record.value, record.header_keys, record.marker)
        for record in dumped_records(dumped.stdout)
    ]


def fill_embedded(directory, close):
    """Both ways to append, times that go back, several segments."""
    log = Log(directory, flush="os", config={"segment.bytes": "1048576"})
    for number in range(2500):
        log.append(
            key=None if number % 5 == 0 else b"key-%d" % number,
            value=None if number % 7 == 0 else b"value-%d " % number * 60,
            headers=(("h", b"1"), ("nothing", None)) if number % 3 == 0 else (),
            timestamp=1_700_000_000_000 + number * 3 - (100 if number % 9 == 0 else 0),
        )
    log.append_many([(b"many-%d" % number, b"w" * 500) for number in range(2500)])
    expected = [
        (record.offset, record.timestamp, text(record.key), text(record.value),
         tuple(name for name, _ in record.headers), None)
        for record in log.read()
    ]  # fmt: skip
    log.close() if close else log._directory.abandon()
    return expected


def text(data):
    return None if data is None else data.decode()


@pytest.mark.parametrize("close", [True, False], ids=["closed", "abandoned"])
def test_kafka_reads_an_embedded_log(tmp_path, close):
    expected = fill_embedded(tmp_path, close)
    dumped = dump_log_segments(tmp_path / "log-0")
    assert complaints(dumped) == []
    assert records_of(dumped) == expected
    assert len(expected) == 5000
    assert verify([tmp_path], with_records=True, as_json=False) == 0


@pytest.mark.parametrize("codec", Compression)
def test_kafka_reads_an_embedded_log_in_each_codec(tmp_path, codec):
    with Log(tmp_path, flush="os", compression=codec) as log:
        log.append_many([(b"key-%d" % number, b"value-%d " % number * 20) for number in range(3000)])
        expected = [(record.offset, text(record.key), text(record.value)) for record in log.read()]
    dumped = dump_log_segments(tmp_path / "log-0")
    assert complaints(dumped) == []
    assert [record[0:1] + record[2:4] for record in records_of(dumped)] == expected
    assert f"compresscodec: {codec.name.lower()}" in dumped.stdout


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_kafka_reads_a_log_that_we_compacted(tmp_path, codec):
    """Offsets are missing then, which Kafka remarks upon; of the indexes it must have nothing to say."""
    config = {"segment.bytes": "1048576", "cleanup.policy": "compact"}
    with Log(tmp_path, flush="os", compression=codec, config=config) as log:
        for first in range(0, 60_000, 100):
            log.append_many(
                [(b"key-%d" % (n * 7919 % 9000), b"value-%d " % n * 5) for n in range(first, first + 100)]
            )
        log.append_many([(b"key-%d" % n, None) for n in range(0, 9000, 10)])
        log.compact()
        expected = [(record.offset, text(record.key), text(record.value)) for record in log.read()]
    dumped = dump_log_segments(tmp_path / "log-0")
    assert [line for line in complaints(dumped) if " is followed by " not in line] == []
    assert [record[0:1] + record[2:4] for record in records_of(dumped)] == expected
    assert len(expected) == 9000
    assert verify([tmp_path], with_records=True, as_json=False) == 0


def test_kafka_reads_a_partition_with_producers_and_transactions(tmp_path):
    """Idempotent batches, a committed and an aborted transaction, two leader epochs, a roll, a cut."""
    now_ms = 1_700_000_000_000
    with LogDirectory(tmp_path) as directory:
        log = directory.open_log("orders", 0, LogConfig.from_kafka({"segment.bytes": "1048576"}))
        log.begin_leader_epoch(0)
        options = {"producer_epoch": 0, "is_transactional": True}
        log.append(batch(0, [b"plain"] * 3), leader_epoch=0, now_ms=now_ms)
        log.append(batch(0, [b"a"] * 2, producer_id=1, base_sequence=0, **options), now_ms=now_ms)
        log.append(batch(0, [b"b"] * 2, producer_id=2, base_sequence=0, **options), now_ms=now_ms)
        log.roll(now_ms)
        log.begin_leader_epoch(4)
        log.append(
            batch(0, [b"b"] * 2, producer_id=2, base_sequence=2, **options), leader_epoch=4, now_ms=now_ms
        )
        for producer_id, control_type in ((2, 0), (1, 1)):
            log.append(
                marker(0, producer_id, control_type),
                leader_epoch=4,
                now_ms=now_ms,
                origin=AppendOrigin.COORDINATOR,
            )
        log.append(batch(0, [b"cut"] * 4), leader_epoch=4, now_ms=now_ms)
        log.advance_high_watermark(11)
        truncate_to(log, 11, now_ms)
    dumped = dump_log_segments(tmp_path / "orders-0")
    assert complaints(dumped) == []
    assert [(record.offset, record.value, record.marker) for record in dumped_records(dumped.stdout)] == [
        (0, "plain", None), (1, "plain", None), (2, "plain", None), (3, "a", None), (4, "a", None),
        (5, "b", None), (6, "b", None), (7, "b", None), (8, "b", None), (9, None, "ABORT"),
        (10, None, "COMMIT"),
    ]  # fmt: skip
    assert "producerId: 2 firstOffset: 5 lastOffset: 9 lastStableOffset: 3" in dumped.stdout
    assert "producerId: 1 producerEpoch: 0 coordinatorEpoch: 0" in dumped.stdout
    assert verify([tmp_path], with_records=True, as_json=False) == 0


def test_kafka_does_complain_about_damage(tmp_path):
    """Else the tests above would prove nothing."""
    directory = sample_partition(tmp_path / "topic-0")
    index = directory / f"{0:020}.index"
    data = bytearray(index.read_bytes())
    data[3] += 1
    index.write_bytes(data)
    assert any("Mismatches in" in line for line in complaints(dump_log_segments(directory)))
