"""Streams written at least once and exactly once: batches, retries, restarts."""

import json

import pytest
from pyspark.errors import StreamingQueryException
from tests.spark.sink_tools import committed, values

from distributedlog.spark import register

ROWS = 40


@pytest.fixture
def stream(spark, bootstrap, topic, topics, tmp_path):
    """Start the query on one checkpoint, as often as the test likes."""
    register(spark)
    topics.create(topic, partitions=3)
    queries = []

    def start(change=lambda frame: frame, **options):
        numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).load()
        frame = change(numbers.selectExpr("cast(value as string) key", "cast(value as string) value"))
        query = (
            frame.writeStream.format("distributedlog")
            .options(**{"kafka.bootstrap.servers": bootstrap, "topic": topic, **options})
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        queries.append(query)
        return query

    yield start
    for query in queries:
        query.stop()


def wait_for(query, batch):
    """Until this batch is finished, or the query has failed."""
    for _ in range(600):
        progress = query.lastProgress
        if progress is not None and progress["batchId"] >= batch:
            return
        if query.awaitTermination(1 if progress is None else 0.05):
            return
    raise AssertionError(f"batch {batch} did not come: {query.lastProgress}")


def batches(first, last):
    return {str(number).encode(): 1 for number in range(first * ROWS, last * ROWS)}


def finished(directory):
    return max(
        int(path.name) for path in (directory / "checkpoint" / "commits").iterdir() if path.name.isdigit()
    )


def forget(directory, batch):
    """As if Spark had died before it noted that this batch and those after it are finished."""
    for path in (directory / "checkpoint" / "commits").iterdir():
        name = path.name.removeprefix(".").split(".")[0]
        if name.isdigit() and int(name) >= batch:
            path.unlink()


def test_at_least_once_has_every_row(stream, bootstrap, topic):
    wait_for(stream(), 3)
    found = values(committed(bootstrap, topic))
    assert all(found[value] >= 1 for value in batches(0, 3))


def test_a_batch_that_comes_again_is_not_written_again(stream, bootstrap, topic, tmp_path):
    query = stream(exactlyOnce="true")
    wait_for(query, 3)
    query.stop()
    last = finished(tmp_path)
    forget(tmp_path, last)
    query = stream(lambda frame: frame.repartition(3), exactlyOnce="true")  # its rows in another order
    wait_for(query, last + 2)
    query.stop()
    found = values(committed(bootstrap, topic))
    assert set(found.values()) == {1}
    assert found.keys() >= batches(0, finished(tmp_path) + 1).keys()
    assert len(found) % ROWS == 0


def test_a_checkpoint_that_was_set_back_is_refused(stream, tmp_path):
    query = stream(exactlyOnce="true")
    wait_for(query, 3)
    query.stop()
    last = finished(tmp_path)
    forget(tmp_path, last - 1)
    offsets = tmp_path / "checkpoint" / "offsets"
    for path in offsets.iterdir():
        name = path.name.removeprefix(".").split(".")[0]
        if name.isdigit() and int(name) >= last:
            path.unlink()
    query = stream(exactlyOnce="true")
    with pytest.raises(StreamingQueryException, match="its checkpoint is older"):
        wait_for(query, last + 5)


def test_large_batches_go_through_files_and_leave_none(stream, bootstrap, topic, tmp_path):
    staging = tmp_path / "staging"
    query = stream(
        lambda frame: frame.selectExpr("key", "repeat(key, 20000) as value"),
        exactlyOnce="true",
        stagingDirectory=str(staging),
    )
    wait_for(query, 2)
    query.stop()
    records = committed(bootstrap, topic)
    assert {record.key: record.value for record in records}[b"41"] == b"41" * 20_000
    assert staging.is_dir()


def test_progress_of_a_query_with_its_own_prefix(stream, bootstrap, topic, tmp_path):
    import asyncio

    from distributedlog.client import ClusterClient, TopicPartition
    from distributedlog.client.committed import committed_offsets

    query = stream(exactlyOnce="true", transactionalIdPrefix="mine-")
    wait_for(query, 2)
    query.stop()

    async def record():
        async with ClusterClient(bootstrap) as client:
            return await committed_offsets(client, f"mine-{query.id}")

    found = asyncio.run(record())[TopicPartition(topic, 0)]
    assert found.offset >= finished(tmp_path)
    assert json.loads(found.metadata)["v"] == 1
