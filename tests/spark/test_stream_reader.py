"""Streams end to end: each test is a query that is started, and started again on its checkpoint."""

import asyncio
import json
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMinRows
from tests.spark.filling import Source, Topics, texts

from distributedlog.client import ClusterClient, TopicPartition
from distributedlog.client.committed import committed_offsets
from distributedlog.spark.columns import spark_schema
from distributedlog.spark.errors import DataLoss
from distributedlog.spark.read_options import COLUMNS, ReadOptions
from distributedlog.spark.stream_offsets import parse_offset
from distributedlog.spark.stream_reader import StreamReader
from distributedlog.testing import EmbeddedBroker


def last_offsets(checkpoint):
    """The newest entry of the checkpoint's log of offsets: what the source wrote."""
    files = [path for path in (Path(checkpoint) / "offsets").iterdir() if path.name.isdigit()]
    newest = max(files, key=lambda path: int(path.name))
    return json.loads(newest.read_text().splitlines()[-1])


def test_batches_stay_below_the_limit_and_the_group_follows(source, topics, topic, tmp_path):
    topics.create(topic, 2)
    topics.fill(topic, texts(100))
    topics.fill(topic, texts(50, "w"), partition=1)
    stream = source.stream(
        topic, startingOffsets="earliest", maxOffsetsPerTrigger="60", kafka__group__id=f"{topic}-g"
    )
    rows, query = source.run(stream, tmp_path)
    assert sorted(rows) == sorted(text.decode() for text in texts(100) + texts(50, "w"))
    sizes = [entry["numInputRows"] for entry in query.recentProgress if entry["numInputRows"]]
    assert max(sizes) <= 60
    assert len(sizes) == 3
    reported = json.loads(query.recentProgress[0].sources[0].latestOffset)
    assert reported["topics"][topic]["offsets"] == {"0": 100, "1": 50}

    async def committed():
        async with ClusterClient(source.bootstrap) as client:
            return await committed_offsets(client, f"{topic}-g")

    found = asyncio.run(committed())
    assert found[TopicPartition(topic, 0)].offset >= 80  # the last batch is told with the next one


def test_a_restart_reads_on_with_new_partitions_and_options(source, topics, topic, tmp_path):
    topics.create(topic, 1)
    topics.fill(topic, texts(10))
    rows, _ = source.run(source.stream(topic, startingOffsets="earliest"), tmp_path)
    assert len(rows) == 10
    topics.add_partitions(topic, 2)
    topics.fill(topic, texts(5, "new"), partition=1)
    topics.fill(topic, texts(3, "more"))
    changed = source.stream(topic, startingOffsets="latest", maxOffsetsPerTrigger="100", minPartitions="4")
    rows, _ = source.run(changed, tmp_path)
    assert sorted(rows) == ["more0", "more1", "more2", "new0", "new1", "new2", "new3", "new4"]
    assert last_offsets(tmp_path)["topics"][topic]["begins"] == {"1": 0}
    rows, _ = source.run(changed, tmp_path)
    assert rows == []


def test_a_checkpoint_of_sparks_own_source_is_understood(source, topics, topic, tmp_path):
    topics.create(topic, 1)
    topics.fill(topic, texts(10))
    stream = source.stream(topic, startingOffsets="earliest")
    source.run(stream, tmp_path)
    newest = max((tmp_path / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    lines = newest.read_text().splitlines()
    newest.write_text("\n".join([*lines[:-1], json.dumps({topic: {"0": 10}})]))
    (newest.parent / f".{newest.name}.crc").unlink(missing_ok=True)
    topics.fill(topic, texts(4, "w"))
    rows, _ = source.run(stream, tmp_path)
    assert rows == ["w0", "w1", "w2", "w3"]


def test_a_later_versions_checkpoint_is_refused(source, topics, topic, tmp_path):
    topics.create(topic, 1)
    topics.fill(topic, texts(2))
    stream = source.stream(topic, startingOffsets="earliest")
    source.run(stream, tmp_path)
    newest = max((tmp_path / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.write_text(newest.read_text().replace('"version": 1', '"version": 9'))
    (newest.parent / f".{newest.name}.crc").unlink(missing_ok=True)
    with pytest.raises(StreamingQueryException) as caught:
        source.run(stream, tmp_path)
    assert "written by a later distributedlog" in str(caught.value)


def test_a_topic_made_anew_is_data_loss_or_read_from_its_beginning(source, topics, topic, tmp_path):
    topics.create(topic, 1)
    topics.fill(topic, texts(10))
    source.run(source.stream(topic, startingOffsets="earliest"), tmp_path)
    topics.delete(topic)
    topics.create(topic, 1)
    topics.fill(topic, texts(20, "again"))
    with pytest.raises(StreamingQueryException) as caught:
        source.run(source.stream(topic), tmp_path)
    assert "was deleted and made anew" in str(caught.value)
    rows, _ = source.run(source.stream(topic, failOnDataLoss="false"), tmp_path)
    assert sorted(rows) == sorted(text.decode() for text in texts(20, "again"))


def test_a_topic_that_is_gone_leaves_the_others(source, topics, topic, tmp_path):
    names = [f"{topic}-a", f"{topic}-b"]
    for name in names:
        topics.create(name)
        topics.fill(name, texts(5))
    source.run(source.stream(",".join(names), startingOffsets="earliest"), tmp_path)
    topics.delete(names[0])
    topics.fill(names[1], texts(2, "w"))
    with pytest.raises(StreamingQueryException) as caught:
        source.run(source.stream(",".join(names)), tmp_path)
    assert f"topic '{names[0]}' is gone" in str(caught.value)
    rows, _ = source.run(source.stream(",".join(names), failOnDataLoss="false"), tmp_path)
    assert rows == ["w0", "w1"]


def test_expired_offsets_are_data_loss_or_passed_over(source, topics, topic, tmp_path):
    topics.create(topic, 1)
    topics.fill(topic, texts(10))
    source.run(source.stream(topic, startingOffsets="earliest"), tmp_path)
    topics.fill(topic, texts(20, "w"))
    topics.delete_records(topic, 0, 25)
    with pytest.raises(StreamingQueryException) as caught:
        source.run(source.stream(topic), tmp_path)
    assert "offsets 10 to 25" in str(caught.value)
    rows, _ = source.run(source.stream(topic, failOnDataLoss="false"), tmp_path)
    assert rows == [f"w{index}" for index in range(15, 20)]


def test_new_topics_of_a_pattern_join_and_transactions_count_when_committed(source, topics, topic, tmp_path):
    topics.create(f"{topic}-1")
    topics.transaction(f"{topic}-1", texts(3, "a"), commit=False, transactional_id=topic)
    topics.transaction(f"{topic}-1", texts(4, "c"), commit=True, transactional_id=topic)
    stream = source.stream(None, subscribePattern=f"{topic}-.*", startingOffsets="earliest")
    rows, _ = source.run(stream, tmp_path)
    assert rows == ["c0", "c1", "c2", "c3"]
    topics.create(f"{topic}-2")
    topics.fill(f"{topic}-2", texts(2, "new"))
    rows, _ = source.run(stream, tmp_path)
    assert rows == ["new0", "new1"]


def test_a_query_outlives_a_broker_that_goes_and_comes_back(spark, tmp_path):
    with EmbeddedBroker(directory=tmp_path / "data") as broker:
        topics, source = Topics(broker.bootstrap_servers), Source(spark, broker.bootstrap_servers)
        topics.create("t")
        topics.fill("t", texts(5))
        stream = source.stream("t", startingOffsets="earliest")
        query = (
            stream.writeStream.format("memory")
            .queryName("outlives")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        try:
            query.processAllAvailable()
            broker.stop()
            broker.start()
            topics.fill("t", texts(5, "w"))
            query.processAllAvailable()
        finally:
            query.stop()
        assert spark.table("outlives").count() == 10


def test_a_stream_has_no_end(source, tmp_path):
    with pytest.raises(StreamingQueryException) as caught:
        source.run(source.stream("orders", endingOffsets="latest"), tmp_path)
    assert "a stream has no end" in str(caught.value)


def test_a_batch_waits_for_its_minimum(topics, topic, bootstrap):
    topics.create(topic)
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingoffsets": "earliest"}
    options |= {"minoffsetspertrigger": "10", "maxtriggerdelay": "1h"}
    reader = StreamReader(ReadOptions.of(options, is_streaming=True), spark_schema(COLUMNS))
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMinRows(10)
    topics.fill(topic, texts(5))
    first = reader.latestOffset(reader.initialOffset(), limit)
    assert parse_offset(first).partitions() == {TopicPartition(topic, 0): 5}
    topics.fill(topic, texts(5))
    assert reader.latestOffset(first, limit) == first
    assert reader.latestOffset(first, ReadAllAvailable()) != first
    topics.fill(topic, texts(5))
    second = reader.latestOffset(first, limit)
    assert parse_offset(second).partitions() == {TopicPartition(topic, 0): 15}
    reader.prepareForTriggerAvailableNow()
    topics.fill(topic, texts(5))
    assert reader.latestOffset(second, limit) == second
    assert [task.value[0].end for task in reader.partitions(first, second)] == [15]


def test_a_batch_planned_before_its_topic_went_is_data_loss(topics, topic, bootstrap):
    topics.create(topic)
    topics.fill(topic, texts(5))
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingoffsets": "earliest"}
    schema = spark_schema(COLUMNS)
    before = StreamReader(ReadOptions.of(options, is_streaming=True), schema)
    start = before.initialOffset()
    end = before.latestOffset(start, ReadAllAvailable())
    topics.delete(topic)
    restarted = StreamReader(ReadOptions.of(options, is_streaming=True), schema)
    with pytest.raises(DataLoss, match=f"topic '{topic}' is gone"):
        restarted.partitions(start, end)
    lenient = StreamReader(ReadOptions.of({**options, "failondataloss": "false"}, is_streaming=True), schema)
    with pytest.warns(RuntimeWarning, match="is gone"):
        assert lenient.partitions(start, end) == []


@pytest.mark.parametrize("ends", [False, True])
def test_a_log_that_ends_before_the_query_stands_is_data_loss(topics, topic, bootstrap, ends):
    """So it is where a topic was made anew and nobody knew its id."""
    topics.create(topic)
    topics.fill(topic, texts(5))
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    reader = StreamReader(ReadOptions.of(options, is_streaming=True), spark_schema(COLUMNS))
    if ends:
        reader.prepareForTriggerAvailableNow()
    with pytest.raises(DataLoss, match="-0 ends at offset 5; the query stands at 9"):
        reader.latestOffset({topic: {"0": 9}}, ReadAllAvailable())
