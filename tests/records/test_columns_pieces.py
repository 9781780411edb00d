import pyarrow as pa
import pytest

from distributedlog.records import (
    Compression,
    ControlType,
    CorruptBatchError,
    build_control_batch,
)
from distributedlog.records.columns import COLUMNS, SCHEMA, decode_to_arrow, encode_from_arrow
from distributedlog.records.columns_pieces import PIECE_ROWS, FetchedBatches, Scratch
from distributedlog.records.columns_read_committed import AbortedTransaction


def encoded(rows, *, value_bytes=20, compression=Compression.NONE, batch_size_max=4096, **settings):
    values = pa.array([b"%0*d" % (value_bytes, row) for row in range(rows)], pa.binary())
    batch = pa.record_batch({"value": values})
    return bytes(
        encode_from_arrow(
            batch, batch_size_max=batch_size_max, compression=compression, timestamp_ms=5, **settings
        )
    )


def pieces_of(data, start=0, end=1 << 60, aborted=(), columns=COLUMNS):
    return list(FetchedBatches(data, start).pieces(start, end, columns, aborted, Scratch(1024)))


@pytest.mark.parametrize("compression", list(Compression))
def test_pieces_together_are_what_one_decoding_gives(compression):
    data = encoded(3000, compression=compression)
    found = pa.Table.from_batches(pieces_of(data, 17, 2900), SCHEMA)
    whole = decode_to_arrow(data, start_offset=17, end_offset=2900)
    assert found == pa.Table.from_batches([whole], SCHEMA)


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
def test_pieces_are_bounded(compression):
    many = pieces_of(encoded(2 * PIECE_ROWS + 10, value_bytes=1, compression=compression))
    assert all(piece.num_rows <= PIECE_ROWS for piece in many)
    assert sum(piece.num_rows for piece in many) == 2 * PIECE_ROWS + 10
    large = encoded(30, value_bytes=1 << 20, compression=compression, batch_size_max=2 << 20)
    sizes = [piece.num_rows for piece in pieces_of(large)]
    assert max(sizes) <= 5
    assert sum(sizes) == 30


def test_a_transaction_after_an_aborted_one_counts_also_behind_a_cut():
    """Looked at in pieces, an abort's marker must not be forgotten with the piece that it stood in."""
    writer = {"value_bytes": 1, "producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    aborted = encoded(10, base_sequence=0, **writer)
    marker = build_control_batch(ControlType.ABORT, 5, producer_id=7, producer_epoch=0, base_offset=10)
    committed = encoded(PIECE_ROWS + 100, base_sequence=10, base_offset=11, **writer)
    data = aborted + bytes(marker) + committed
    found = pieces_of(data, aborted=[AbortedTransaction(7, 0)], columns=["offset"])
    assert len(found) > 1
    offsets = pa.Table.from_batches(found)["offset"].to_pylist()
    assert offsets == list(range(11, 11 + PIECE_ROWS + 100))


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.LZ4])
def test_only_records_in_time_come(compression):
    times = [5, 100, 7, 3, 50, 8]
    schema = pa.schema([("value", pa.binary()), ("timestamp", pa.timestamp("ms", tz="UTC"))])
    rows = pa.record_batch([[b"%d" % time for time in times], times], schema=schema)
    one = bytes(encode_from_arrow(rows, compression=compression))
    each = bytes(encode_from_arrow(rows, compression=compression, batch_size_max=1))
    for data in (one, each):
        for limits in ((5, 51), (101, 200), (-(2**63), 4), (100, 2**63 - 1)):
            batches = FetchedBatches(data, 0).pieces(0, 6, ["value"], (), Scratch(), limits)
            found = [int(value) for piece in batches for value in piece["value"].to_pylist()]
            assert found == [time for time in times if limits[0] <= time < limits[1]]


def test_what_is_next_is_known_before_anything_is_decoded():
    data = encoded(100)
    batches = FetchedBatches(data + data[:70], 0)
    assert (batches.next_offset, batches.consumed) == (100, len(data))
    assert FetchedBatches(b"", 5).next_offset == 5


def test_damage_is_found():
    data = bytearray(encoded(100, compression=Compression.LZ4))
    data[80] ^= 1
    with pytest.raises(CorruptBatchError):
        FetchedBatches(data, 0)
    batches = FetchedBatches(data, 0, check_crc=False)
    with pytest.raises(CorruptBatchError):
        list(batches.pieces(0, 100, COLUMNS, (), Scratch()))
