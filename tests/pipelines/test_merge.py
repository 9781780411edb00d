"""One view of several origins: the same for every order of arrival, duplicates included."""

import json
import random

import pytest

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.merge import merge

SCHEMA = "key BINARY, value BINARY, topic STRING, timestamp TIMESTAMP, offset LONG"
CASES = 60
ARRIVALS = 4


@pytest.fixture
def version(at):
    return lambda key, value, topic, second, offset=0: (
        key.encode(),
        value and value.encode(),
        topic,
        at(second),
        offset,
    )


def view(rows):
    return {bytes(row[0]).decode(): row[1] and bytes(row[1]).decode() for row in rows}


def longest(versions):
    """A merge function that is none of the ready ones."""
    values = [version.value for version in versions if version.value is not None]
    return max(values, key=lambda value: (len(value), value)) if values else None


def test_the_last_write_wins_and_ties_are_broken_the_same_way(spark, version):
    frame = spark.createDataFrame(
        [
            version("a", "early", "orders", 0, 7),
            version("a", "late", "dc2.orders", 1, 0),
            version("tie", "mine", "orders", 5),
            version("tie", "theirs", "dc2.orders", 5),
            version("gone", "there", "orders", 5),
            version("gone", None, "orders", 5),
        ],
        SCHEMA,
    )
    assert view(merge(frame).collect()) == {"a": "late", "tie": "mine", "gone": None}
    ranked = merge(frame, rank=["dc2.orders", "orders"]).collect()
    assert view(ranked)["tie"] == "theirs"
    assert {bytes(row.key): row.origin for row in ranked}[b"tie"] == "dc2.orders"


def test_all_versions_oldest_first(spark, version):
    said = [
        version("a", "2", "orders", 2),
        version("a", None, "dc2.orders", 1),
        version("a", "2", "orders", 2),
    ]
    (row,) = merge(spark.createDataFrame(said, SCHEMA), keep="all").collect()
    assert json.loads(bytes(row.value)) == [
        {"timestamp": "2026-01-01T00:00:01.000Z", "origin": "dc2.orders"},
        {"timestamp": "2026-01-01T00:00:02.000Z", "origin": "orders", "value": "2"},
    ]


@pytest.mark.parametrize(("keep", "function"), [("last", None), ("all", None), ("function", longest)])
def test_any_arrival_order_with_duplicates_gives_the_same_view(spark, version, keep, function):
    """All cases in one job: the arrivals of one case are keys of their own that must come out alike."""
    chance = random.Random(20260101)
    rows = []
    for case in range(CASES):
        said = [
            (
                chance.choice(["1", "22", "333", None]),
                chance.choice(["o", "dc2.o", "dc3.o"]),
                chance.randrange(3),
            )
            for _ in range(chance.randrange(1, 7))
        ]
        for arrival in range(ARRIVALS):
            order = [*said, *chance.choices(said, k=3)] if arrival else said
            chance.shuffle(order)
            rows += [version(f"{case}/{arrival}", *each, chance.randrange(99)) for each in order]
    chance.shuffle(rows)
    frame = spark.createDataFrame(rows, SCHEMA).repartition(7)
    seen = view(merge(frame, keep=keep, function=function).collect())
    assert len(seen) == CASES * ARRIVALS
    for case in range(CASES):
        assert len({seen[f"{case}/{arrival}"] for arrival in range(ARRIVALS)}) == 1


@pytest.mark.parametrize("keep", ["last", "function"])
def test_streams_of_any_order_end_in_the_view_of_the_static_frame(spark, stream, results, version, keep):
    function = longest if keep == "function" else None
    said = [
        [version("a", "1", "o", 5), version("b", "22", "o", 1)],
        [version("a", "333", "dc2.o", 4), version("b", None, "dc2.o", 2)],
        [version("a", "1", "o", 5), version("c", "1", "dc2.o", 0)],
    ]
    merged = merge(
        spark.createDataFrame([each for batch in said for each in batch], SCHEMA),
        keep=keep,
        function=function,
    )
    expected = view(merged.collect())
    for batches in (said, [[*said[2], *said[1]], [*said[0], *said[1]]]):
        frame = merge(stream(SCHEMA, *batches), keep=keep, function=function)
        seen = {}
        for batch in results(frame, "update"):
            seen |= view(batch)
        assert seen == expected


def test_a_function_and_keep_go_together(spark, version):
    frame = spark.createDataFrame([version("a", "1", "o", 0)], SCHEMA)
    with pytest.raises(PipelineError, match="go together"):
        merge(frame, keep="function")
    with pytest.raises(PipelineError, match="go together"):
        merge(frame, function=longest)
