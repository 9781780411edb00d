"""Kafka's DumpLogSegments on directories that we wrote."""

import pytest

from distributedlog.log.inspect import inspect
from distributedlog.log.inspect_events import RecordSeen
from kafka_peer import complaints, dump_log_segments, dumped_records
from partition_files import sample_partition


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
    kafkas = [
        (record.offset, record.timestamp, record.key, record.value, record.header_keys, record.marker)
        for record in dumped_records(dumped.stdout)
    ]
    assert kafkas == list(ours(directory))
    assert len(kafkas) == 229


def test_kafka_does_complain_about_damage(tmp_path):
    """Else the tests above would prove nothing."""
    directory = sample_partition(tmp_path / "topic-0")
    index = directory / f"{0:020}.index"
    data = bytearray(index.read_bytes())
    data[3] += 1
    index.write_bytes(data)
    assert any("Mismatches in" in line for line in complaints(dump_log_segments(directory)))
