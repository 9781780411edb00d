"""Rows that are chosen, encoded and sealed later are the batches that would have been made at once."""

import numpy as np
import pyarrow as pa
import pytest

from distributedlog.records import BatchBuilder, Compression, decode_batch, parse_header, verify_crc
from distributedlog.records.columns_from_arrow import RecordColumns
from distributedlog.records.columns_rows import (
    between,
    build_batches,
    chosen,
    records_count_of,
    seal_batch,
    sizes_of,
)
from distributedlog.records.columns_schema import HEADERS_TYPE
from distributedlog.records.kernels_partitions import group_by_partition

ROWS = [
    (1000, b"k", b"v", (("a", b"1"), ("b", None))),
    (1001, None, b"", ()),
    (999, b"", None, (("c", b""),)),
    (1002, b"key", b"x" * 500, ()),
    (1003, b"q", b"w", (("d", b"4"), ("e", b"5"), ("f", b"6"))),
]


def columns():
    timestamps, keys, values, headers = zip(*ROWS, strict=True)
    batch = pa.record_batch(
        {
            "timestamp": pa.array(timestamps, pa.int64()),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array([list(pairs) or None for pairs in headers], HEADERS_TYPE),
        }
    )
    return RecordColumns.of(batch, 0)


def rows_of(batches):
    return [
        (record.timestamp, record.key, record.value, record.headers)
        for batch in batches
        for record in decode_batch(batch, check_crc=False)
    ]


def built(rows, size_max=100_000, compression=Compression.NONE):
    return build_batches(rows, size_max, compression, None)


@pytest.mark.parametrize("indexes", [[0, 1, 2, 3, 4], [4, 0], [3], [2, 1], [1, 1, 4]])
def test_any_rows_in_any_order(indexes):
    assert rows_of(built(chosen(columns(), np.array(indexes)))) == [ROWS[index] for index in indexes]


@pytest.mark.parametrize(("start", "end"), [(0, 5), (1, 3), (4, 5), (2, 2)])
def test_rows_between_two_places(start, end):
    assert rows_of(built(between(columns(), start, end))) == ROWS[start:end]
    part = between(columns(), 1, 5)
    assert rows_of(built(chosen(part, np.array([0, 3])))) == [ROWS[1], ROWS[4]]


def test_no_row_takes_more_than_its_size():
    for row, size in enumerate(sizes_of(columns()).tolist()):
        [batch] = built(between(columns(), row, row + 1))
        assert len(batch) - 61 <= size


@pytest.mark.parametrize("compression", Compression)
def test_a_sealed_batch_is_a_producers_batch(compression):
    [batch] = built(columns(), compression=compression)
    seal_batch(batch, 77, 3, 2**31 - 2, is_transactional=True)
    seal_batch(batch, 78, 4, 5, is_transactional=False)
    builder = BatchBuilder(compression, producer_id=78, producer_epoch=4, base_sequence=5)
    builder.extend(ROWS)
    header = parse_header(batch, 0)
    verify_crc(batch, 0, header)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (78, 4, 5)
    assert not header.is_transactional
    assert records_count_of(batch) == 5
    if compression is Compression.NONE:
        assert bytes(batch) == bytes(builder.build())


def test_later_batches_begin_at_offset_nought_too():
    first, second, *_ = built(columns(), size_max=150)
    for batch in (first, second):
        seal_batch(batch, 1, 0, 0, is_transactional=False)
        assert parse_header(batch, 0).base_offset == 0


def test_rows_are_grouped_by_partition_in_their_order():
    places = np.array([2, 0, 2, 1, 0, 2], np.int32)
    bounds, rows = np.zeros(5, np.int64), np.empty(6, np.int64)
    assert group_by_partition(places, bounds, rows) == -1
    assert bounds.tolist() == [0, 2, 3, 6, 6]
    assert rows.tolist() == [1, 4, 3, 0, 2, 5]
    for wrong in (-1, 4):
        places[3] = wrong
        assert group_by_partition(places, np.zeros(5, np.int64), rows) == 3
