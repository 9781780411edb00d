"""Record batches both ways between us and aiokafka, whose codecs are compiled from Cython."""

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given
from hypothesis import strategies as st
from tests.records.strategies import INT32_MAX, producers, records

from distributedlog.records import (
    Compression,
    ControlType,
    Record,
    build_control_batch,
    decode_batch,
    encode_batch,
    iterate_batches,
    iterate_records,
    patch_base_offset,
    set_log_append_time,
    validate_produced,
    validate_records,
)

codecs = st.sampled_from(Compression)
# To aiokafka's builder -1 means that there is no first timestamp yet.
records_it_can_build = records.filter(lambda appended: appended[0][0] != -1)


def built_by_aiokafka(appended, codec, producer):
    producer_id, producer_epoch, base_sequence, is_transactional = producer
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=is_transactional,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        batch_size=2**30,
    )
    for offset, (timestamp, key, value, headers) in enumerate(appended):
        assert builder.append(offset, timestamp, key, value, list(headers)) is not None
    return bytearray(builder.build())


def built_by_us(appended, codec, producer, **place):
    producer_id, producer_epoch, base_sequence, is_transactional = producer
    return encode_batch(
        appended,
        compression=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        **place,
    )


def read_by_aiokafka(buffer):
    """All records of a buffer as ours, after aiokafka has checked each CRC."""
    found = []
    memory_records = MemoryRecords(bytes(buffer))
    while (batch := memory_records.next_batch()) is not None:
        assert batch.validate_crc()
        found += [
            Record(record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
            for record in batch
        ]
    return found


@given(records_it_can_build, producers)
def test_uncompressed_batches_are_the_same_bytes(appended, producer):
    theirs = built_by_aiokafka(appended, Compression.NONE, producer)
    patch_base_offset(theirs, 0, 0, -1)
    assert built_by_us(appended, Compression.NONE, producer) == theirs


@given(records_it_can_build, codecs, producers)
def test_we_read_theirs(appended, codec, producer):
    batch = built_by_aiokafka(appended, codec, producer)
    header = validate_records(batch)
    validate_produced(header)
    assert header.compression is codec
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.is_transactional) == (
        producer
    )
    patch_base_offset(batch, 0, 2**40, 3)
    assert decode_batch(batch) == [Record(2**40 + index, *record) for index, record in enumerate(appended)]


@given(records, codecs, producers, st.integers(0, 2**60), st.integers(0, INT32_MAX))
def test_they_read_ours(appended, codec, producer, base_offset, leader_epoch):
    batch = built_by_us(appended, codec, producer, base_offset=base_offset, leader_epoch=leader_epoch)
    theirs = DefaultRecordBatch(bytes(batch))
    assert theirs.compression_type == codec
    assert theirs.base_offset == base_offset
    assert (theirs.producer_id, theirs.producer_epoch, theirs.base_sequence, theirs.is_transactional) == (
        producer
    )
    assert theirs.max_timestamp == max(record[0] for record in appended)
    assert read_by_aiokafka(batch) == decode_batch(batch)


@given(records, codecs, st.integers(0, 2**62))
def test_they_agree_about_log_append_time(appended, codec, append_time):
    batch = encode_batch(appended, compression=codec)
    set_log_append_time(batch, 0, append_time)
    assert {record.timestamp for record in read_by_aiokafka(batch)} == {append_time}
    assert read_by_aiokafka(batch) == decode_batch(batch)


@given(st.lists(st.tuples(records, codecs), max_size=4))
def test_many_batches_in_one_buffer(batches):
    buffer = bytearray()
    next_offset = 5
    for appended, codec in batches:
        buffer += encode_batch(appended, compression=codec, base_offset=next_offset)
        next_offset += len(appended)
    found = read_by_aiokafka(buffer)
    assert [record.offset for record in found] == list(range(5, next_offset))
    assert list(iterate_records(buffer)) == found
    for start in (0, 5, 6, next_offset - 1, next_offset):
        assert list(iterate_records(buffer, start)) == [r for r in found if r.offset >= start]
    assert len(list(iterate_batches(buffer))) == len(batches)


@pytest.mark.parametrize("control_type", [ControlType.COMMIT, ControlType.ABORT])
def test_they_know_our_markers(control_type):
    batch = build_control_batch(control_type, 9, producer_id=4, producer_epoch=2, base_offset=8)
    theirs = DefaultRecordBatch(bytes(batch))
    assert theirs.validate_crc()
    assert theirs.is_control_batch
    assert theirs.is_transactional
    assert (theirs.producer_id, theirs.producer_epoch) == (4, 2)
    assert read_by_aiokafka(batch) == decode_batch(batch)


@pytest.mark.parametrize("codec", Compression)
def test_batches_larger_than_any_codecs_block(codec):
    appended = [(index, b"key-%d" % index, b"%d" % index * 5_000, ()) for index in range(100)]
    ours = encode_batch(appended, compression=codec)
    theirs = built_by_aiokafka(appended, codec, (-1, -1, -1, False))
    expected = [Record(index, *record) for index, record in enumerate(appended)]
    assert read_by_aiokafka(ours) == expected
    assert decode_batch(theirs) == expected
