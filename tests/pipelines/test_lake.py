"""The archive: by date and hour, each batch once whatever dies meanwhile, small files merged; and back."""

import pytest

from distributedlog.pipelines.archive import archive
from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.lake_compaction import Compaction
from distributedlog.pipelines.lake_files import LakeFiles
from distributedlog.pipelines.lake_formats import need_format, read_lake, write_lake
from distributedlog.pipelines.lake_writer import LakeWriter
from distributedlog.pipelines.replay import replay

SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset LONG, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)


class Died(Exception):
    """The driver, at a place of the test's choosing."""


@pytest.fixture
def record(at):
    return lambda offset, second=0, partition=0: (
        b"k",
        f"{partition}-{offset}".encode(),
        "clicks",
        partition,
        offset,
        at(second),
        [("trace", b"%d" % offset)],
    )


@pytest.fixture
def lake(spark, tmp_path):
    return LakeFiles(spark, str(tmp_path / "lake"))


@pytest.fixture
def batch(spark, record):
    return lambda *offsets: archive(spark.createDataFrame([record(each) for each in offsets], SCHEMA))


def offsets(spark, lake):
    return sorted(row.offset for row in spark.read.parquet(lake.path("")).collect())


def test_the_place_of_a_row_is_its_hour_in_utc(spark, record):
    frame = archive(spark.createDataFrame([record(0, 3 * 3600 + 5), record(1, 86_399)], SCHEMA))
    assert [(str(row.date), row.hour) for row in frame.orderBy("offset").collect()] == [
        ("2026-01-01", 3),
        ("2026-01-01", 23),
    ]


@pytest.mark.parametrize("time_zone", ["UTC", "Pacific/Auckland"])
def test_whatever_the_sessions_time_zone(spark, record, time_zone):
    spark.conf.set("spark.sql.session.timeZone", time_zone)
    try:
        frame = archive(spark.createDataFrame([record(0)], SCHEMA))
        (row,) = frame.selectExpr(
            "cast(date as string) as date", "hour", "unix_millis(timestamp) as ms"
        ).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert row.ms // 3_600_000 % 24 == row.hour


def test_a_batch_that_is_replayed_is_there_once(spark, lake, batch):
    LakeWriter(lake, "q").write(batch(0, 1), 0)
    LakeWriter(lake, "q").write(batch(0, 1), 0)
    LakeWriter(lake, "q").write(batch(2), 1)
    assert offsets(spark, lake) == [0, 1, 2]


@pytest.mark.parametrize("place", ["write_json", "rename", "delete"])
@pytest.mark.parametrize("time", [0, 1, 2])
def test_a_death_at_any_step_costs_and_doubles_nothing(spark, lake, record, monkeypatch, place, time):
    """The writer dies at the n-th file operation of a kind; the batch is replayed, in another order."""
    calls = 0
    true_one = getattr(LakeFiles, place)

    def deadly(files, *arguments):
        nonlocal calls
        calls += 1
        if calls == time + 1:
            raise Died
        return true_one(files, *arguments)

    def rows(numbers):
        return archive(
            spark.createDataFrame([record(number, 3600 * (number % 3)) for number in numbers], SCHEMA)
        )

    LakeWriter(lake, "q").write(rows([0, 1]), 0)
    with monkeypatch.context() as patch:
        patch.setattr(LakeFiles, place, deadly)
        try:
            LakeWriter(lake, "q").write(rows([2, 3, 4, 5]), 1)
        except Died:
            seen = offsets(spark, lake)
            assert len(seen) == len(set(seen))
    LakeWriter(lake, "q").write(rows([5, 4, 3, 2]), 1)
    assert offsets(spark, lake) == [0, 1, 2, 3, 4, 5]


def test_small_files_are_merged_in_the_order_of_the_log(spark, lake, batch):
    writer = LakeWriter(lake, "q", compact_files=3)
    for number in range(3):
        writer.write(batch(2 - number), number)
    (merged,) = [name for name, _ in lake.files_below("date=2026-01-01", ".parquet")]
    assert "merged-" in merged
    assert [row.offset for row in spark.read.parquet(lake.path(merged)).collect()] == [0, 1, 2]


@pytest.mark.parametrize("place", ["rename", "delete"])
@pytest.mark.parametrize("time", range(5))
def test_a_death_while_merging_never_doubles_a_row(spark, lake, batch, monkeypatch, place, time):
    for number in range(2):
        LakeWriter(lake, "q").write(batch(number), number)
    calls = 0
    true_one = getattr(LakeFiles, place)

    def deadly(files, *arguments):
        nonlocal calls
        calls += 1
        if calls == time + 1:
            raise Died
        return true_one(files, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(LakeFiles, place, deadly)
        try:
            Compaction(lake, 2).compact(spark, "date=2026-01-01/hour=0")
        except Died:
            visible = [
                name
                for name, _ in lake.files_below("date=2026-01-01", ".parquet")
                if not name.rpartition("/")[2].startswith("_")
            ]
            if visible:
                seen = [row.offset for row in spark.read.parquet(*map(lake.path, visible)).collect()]
                assert len(seen) == len(set(seen))
    Compaction(lake, 2).finish_all()
    assert offsets(spark, lake) == [0, 1]


def test_a_stream_is_archived_and_replayed_with_all_it_had(spark, stream, record, tmp_path):
    records = stream(SCHEMA, [record(0), record(1, 3600, 1)], [record(1, 5)], [record(0, 7200, 1)])
    query = write_lake(
        archive(records),
        str(tmp_path / "lake"),
        "parquet",
        2,
        lambda writer: writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True),
    )
    assert query.awaitTermination(120)
    lake = read_lake(spark, str(tmp_path / "lake"), "parquet")
    back = replay(lake, keep_partitions=True)
    assert back.columns == ["key", "value", "headers", "timestamp", "partition"]
    rows = [(row.partition, bytes(row.value), bytes(row.headers[0].value)) for row in back.collect()]
    assert sorted(rows) == [(0, b"0-0", b"0"), (0, b"0-1", b"1"), (1, b"1-0", b"0"), (1, b"1-1", b"1")]
    assert [row for row in rows if row[0] == 1] == [(1, b"1-0", b"0"), (1, b"1-1", b"1")]
    early = replay(lake, start="2026-01-01T00:00:05Z", end="2026-01-01T01:00:00Z", topics=["clicks"])
    assert [bytes(row.value) for row in early.collect()] == [b"0-1"]


def test_formats_that_are_not_there_are_said(spark):
    with pytest.raises(PipelineError, match="this Spark has no delta: add its jar, as with --conf"):
        need_format(spark, "delta")
    with pytest.raises(PipelineError, match="this Spark has no iceberg"):
        need_format(spark, "iceberg")
