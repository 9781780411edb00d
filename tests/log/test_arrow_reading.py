"""From file regions to Arrow; the kernels themselves are tested in tests/records."""

import sys

import pyarrow
import pytest

from distributedlog.log import Entry, Log, LogReader, arrow_reading
from distributedlog.log.errors import CorruptLog, OffsetOutOfRange
from distributedlog.records.columns import COLUMNS

T0 = 1_700_000_000_000


@pytest.fixture(params=["none", "zstd"])
def log(request, tmp_path):
    with Log(tmp_path, flush="os", compression=request.param, config={"segment.bytes": 2000}) as log:
        for start in range(0, 60, 6):
            log.append_many(
                [Entry(b"k%d" % n, b"v" * n, (("h", b"%d" % n),), T0 + n) for n in range(start, start + 6)]
            )
        yield log


def rows(table):
    return [
        (
            row["offset"],
            round(row["timestamp"].timestamp() * 1000),
            row["key"],
            row["value"],
            tuple((header["key"], header["value"]) for header in row["headers"]),
        )
        for row in table.to_pylist()
    ]


@pytest.mark.parametrize("chunk_bytes", [1, 700, 4 << 20])
@pytest.mark.parametrize(("start", "end"), [(None, None), (0, 60), (7, 23), (13, 14), (59, None), (60, None)])
def test_columns_hold_what_records_say(log, monkeypatch, chunk_bytes, start, end):
    monkeypatch.setattr(arrow_reading, "COLUMNS_CHUNK_BYTES", chunk_bytes)
    assert rows(log.read_arrow(start, end)) == list(log.read(start, end))
    with LogReader(log.path) as reader:
        assert reader.read_arrow(start, end).equals(log.read_arrow(start, end))


def test_a_table_without_rows_has_its_columns(log):
    table = log.read_arrow(60)
    assert table.num_rows == 0
    assert table.column_names == list(COLUMNS)
    assert log.read_arrow(60, columns=("value", "offset")).column_names == ["value", "offset"]


def test_only_the_columns_asked_for_are_read(log):
    table = log.read_arrow(3, 5, columns=("value", "offset"))
    assert table.to_pydict() == {"value": [b"v" * 3, b"v" * 4], "offset": [3, 4]}


def test_a_column_that_does_not_exist_is_named(log):
    with pytest.raises(ValueError, match="colour"):
        log.read_arrow(columns=("offset", "colour"))


def test_batches_come_one_by_one(log, monkeypatch):
    monkeypatch.setattr(arrow_reading, "COLUMNS_CHUNK_BYTES", 1)
    batches = log.read_arrow_batches()
    first = next(batches)
    assert isinstance(first, pyarrow.RecordBatch)
    assert first.num_rows == 6
    assert sum(batch.num_rows for batch in batches) == 54


def test_damage_is_named_with_its_file(log):
    with open(log.path / "log-0" / f"{0:020}.log", "r+b") as file:
        file.seek(90)
        file.write(b"?!")
    with pytest.raises(CorruptLog, match=rf"{0:020}\.log is damaged at byte 0"):
        log.read_arrow()


def test_offsets_outside_of_the_log_are_refused(log):
    with pytest.raises(OffsetOutOfRange):
        log.read_arrow(61)


def test_without_the_extra_it_is_said_how_to_get_it(log, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("distributedlog.records.columns")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "distributedlog.log.arrow_reading")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'distributedlog\[arrow\]'"):
        log.read_arrow()
