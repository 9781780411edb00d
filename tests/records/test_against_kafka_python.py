"""Record batches both ways between us and kafka-python, which is pure Python.

It asks other packages for snappy, LZ4 and zstd, which are not installed here; cramjam takes their place.
The framing of snappy is kafka-python's own.
"""

import types
import warnings

import cramjam
import pytest
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
    parse_header,
    patch_base_offset,
    set_log_append_time,
    validate_produced,
    validate_records,
)

with warnings.catch_warnings():
    # on its way to the records it imports its protocol, which reads files the way of Python 3.10
    warnings.filterwarnings("ignore", "(read|open)_text is deprecated", DeprecationWarning)
    import kafka.codec
    import kafka.record.default_records as theirs
    from kafka.record.memory_records import MemoryRecords

codecs = st.sampled_from(Compression)


@pytest.fixture(autouse=True, scope="module")
def _codecs_that_are_not_installed():
    def block_decode(data):
        return bytes(cramjam.snappy.decompress_raw(bytes(data)))

    def block_encode(data):
        return bytes(cramjam.snappy.compress_raw(bytes(data)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            kafka.codec, "snappy", types.SimpleNamespace(compress=block_encode, decompress=block_decode)
        )
        patch.setattr(theirs.codecs, "has_lz4", lambda: True)
        patch.setattr(theirs.codecs, "has_zstd", lambda: True)
        for name, codec in (("lz4", cramjam.lz4), ("zstd", cramjam.zstd)):
            patch.setattr(theirs, f"{name}_decode", lambda data, codec=codec: bytes(codec.decompress(data)))
            patch.setattr(
                theirs, f"{name}_encode", lambda data, codec=codec: bytes(codec.compress(bytes(data)))
            )
        yield


def built_by_kafka_python(appended, codec, producer):
    producer_id, producer_epoch, base_sequence, is_transactional = producer
    builder = theirs.DefaultRecordBatchBuilder(
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


def read_by_kafka_python(buffer):
    """All records of a buffer as ours, after kafka-python has checked each CRC."""
    found = []
    memory_records = MemoryRecords(bytes(buffer))
    while memory_records.has_next():
        batch = memory_records.next_batch()
        assert batch.validate_crc()
        found += [
            Record(record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
            for record in batch
        ]
    return found


@given(records, producers)
def test_uncompressed_batches_are_the_same_bytes(appended, producer):
    producer_id, producer_epoch, base_sequence, is_transactional = producer
    other = built_by_kafka_python(appended, Compression.NONE, producer)
    patch_base_offset(other, 0, 0, -1)
    ours = encode_batch(
        appended,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )
    assert ours == other


@given(records, codecs, producers)
def test_we_read_theirs(appended, codec, producer):
    batch = built_by_kafka_python(appended, codec, producer)
    header = validate_records(batch)
    validate_produced(header)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.is_transactional) == (
        producer
    )
    assert decode_batch(batch) == [Record(index, *record) for index, record in enumerate(appended)]


@given(records, codecs, st.integers(0, 2**60), st.integers(0, INT32_MAX))
def test_they_read_ours(appended, codec, base_offset, leader_epoch):
    batch = encode_batch(appended, compression=codec, base_offset=base_offset, leader_epoch=leader_epoch)
    other = theirs.DefaultRecordBatch(bytes(batch))
    assert other.compression_type == codec
    assert (other.base_offset, other.leader_epoch) == (base_offset, leader_epoch)
    assert read_by_kafka_python(batch) == decode_batch(batch)


@given(producers.filter(lambda producer: producer[0] >= 0), st.integers(0, INT32_MAX))
def test_they_agree_about_the_last_sequence(producer, last_offset_delta):
    producer_id, producer_epoch, base_sequence, is_transactional = producer
    batch = encode_batch(
        [(0, None, b"", ())],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )
    batch[23:27] = last_offset_delta.to_bytes(4)
    assert parse_header(batch).last_sequence == theirs.DefaultRecordBatch(batch).last_sequence


@given(records, codecs, st.integers(0, 2**62))
def test_they_agree_about_log_append_time(appended, codec, append_time):
    batch = encode_batch(appended, compression=codec)
    set_log_append_time(batch, 0, append_time)
    assert read_by_kafka_python(batch) == decode_batch(batch)


@pytest.mark.parametrize("control_type", [ControlType.COMMIT, ControlType.ABORT])
def test_they_know_our_markers(control_type):
    batch = build_control_batch(control_type, 9, producer_id=4, producer_epoch=2, base_offset=8)
    other = theirs.DefaultRecordBatch(bytes(batch))
    assert other.is_control_batch
    (marker,) = other
    assert marker.version == 0
    assert (marker.commit, marker.abort) == (
        control_type is ControlType.COMMIT,
        control_type is ControlType.ABORT,
    )
