import pytest
from aiokafka.record.control_record import ABORT_MARKER, COMMIT_MARKER
from aiokafka.record.control_record import ControlRecord as AiokafkaControlRecord

from distributedlog.records import (
    ControlRecord,
    ControlType,
    CorruptBatchError,
    Record,
    build_control_batch,
    decode_batch,
    iterate_records,
    parse_control_record,
    validate_batch,
)


@pytest.mark.parametrize(
    ("control_type", "key"), [(ControlType.ABORT, "00000000"), (ControlType.COMMIT, "00000001")]
)
def test_transaction_markers(control_type, key):
    batch = build_control_batch(
        control_type,
        1234,
        producer_id=77,
        producer_epoch=3,
        coordinator_epoch=0x01020304,
        base_offset=50,
        leader_epoch=6,
    )
    header = validate_batch(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.base_offset, header.partition_leader_epoch) == (50, 6)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 3, -1)
    assert (header.base_timestamp, header.max_timestamp) == (1234, 1234)
    (record,) = decode_batch(batch)
    assert record == Record(50, 1234, bytes.fromhex(key), bytes.fromhex("000001020304"), ())
    assert parse_control_record(record) == ControlRecord(control_type, 0x01020304, record.value)


def test_aiokafka_reads_the_types():
    markers = {}
    for control_type in (ControlType.COMMIT, ControlType.ABORT):
        (record,) = decode_batch(build_control_batch(control_type, 0, producer_id=1, producer_epoch=0))
        markers[control_type] = AiokafkaControlRecord.parse(record.key)
    assert markers == {ControlType.COMMIT: COMMIT_MARKER, ControlType.ABORT: ABORT_MARKER}


@pytest.mark.parametrize("control_type", [kind for kind in ControlType if kind > ControlType.COMMIT])
def test_control_batches_of_kraft(control_type):
    batch = build_control_batch(control_type, 5, value=b"its message")
    header = validate_batch(batch)
    assert header.is_control
    assert not header.is_transactional
    assert header.producer_id == -1
    (record,) = decode_batch(batch)
    assert parse_control_record(record) == ControlRecord(control_type, -1, b"its message")


def test_numbers_of_the_types_are_those_of_kafka():
    assert {kind.name: kind.value for kind in ControlType} == {
        "UNKNOWN": -1,
        "ABORT": 0,
        "COMMIT": 1,
        "LEADER_CHANGE": 2,
        "SNAPSHOT_HEADER": 3,
        "SNAPSHOT_FOOTER": 4,
        "KRAFT_VERSION": 5,
        "KRAFT_VOTERS": 6,
    }


def test_readers_of_records_do_not_see_them():
    batch = build_control_batch(ControlType.COMMIT, 0, producer_id=1, producer_epoch=0)
    assert list(iterate_records(batch)) == []


def test_types_and_versions_of_later_days():
    assert parse_control_record(Record(0, 0, bytes.fromhex("00000063"), b"?")).control_type is (
        ControlType.UNKNOWN
    )
    later = Record(0, 0, bytes.fromhex("00050001") + b"more", bytes.fromhex("000900000007") + b"more")
    assert parse_control_record(later)[:2] == (ControlType.COMMIT, 7)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"", b""),
        (b"\0\0\0", b"\0\0\0\0\0\0"),
        (b"\xff\xff\0\1", b"\0\0\0\0\0\0"),
        (b"\0\0\0\1", None),
        (b"\0\0\0\1", b"\0\0\0\0\0"),
        (b"\0\0\0\0", b"\xff\xff\0\0\0\0"),
    ],
)
def test_damaged_control_records(key, value):
    with pytest.raises(CorruptBatchError, match="offset 9"):
        parse_control_record(Record(9, 0, key, value))


def test_what_cannot_be_built():
    with pytest.raises(ValueError, match="unknown type"):
        build_control_batch(ControlType.UNKNOWN, 0)
    with pytest.raises(ValueError, match="producer's id and epoch"):
        build_control_batch(ControlType.COMMIT, 0)
