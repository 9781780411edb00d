"""What `send_table` promises, on any cluster: `servers` is a fixture of the module that imports this."""

import asyncio
import itertools

import pandas
import polars
import pyarrow as pa
import pytest
from tests.client.scenarios.reading import create_topic, records_of

from distributedlog.client.errors import (
    BrokerError,
    BufferFull,
    ClientClosed,
    InvalidOption,
    RecordTooLarge,
    TransactionAborted,
)
from distributedlog.client.producer.async_producer import AsyncProducer
from distributedlog.client.producer.partitioners import by_md5, by_murmur2
from distributedlog.client.producer.producer import Producer
from distributedlog.client.producer.table_future import PartitionRows

PATIENCE = 60


def test_a_table_comes_back_as_it_was(servers, topic):
    create_topic(servers, topic, 1)
    headers = [[("a", b"1"), ("b", None)], None, [], [("c", b"")]]
    table = pa.table(
        {
            "value": pa.array([b"one", b"", None, b"x" * 300]),
            "key": pa.array(["k", None, "", "ü"]),
            "headers": pa.array(headers, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
            "timestamp": pa.array([1_700_000_000_000, 1_700_000_000_005, 1_699_999_999_999, 1]),
            "passed over": pa.array([1, 2, 3, 4]),
        }
    )
    with Producer(servers) as producer:
        metadata = producer.send_table(topic, table).result(PATIENCE)
    assert (metadata.topic, metadata.rows) == (topic, 4)
    assert metadata.partitions == {0: PartitionRows(4, 0, 3)}
    found = records_of(servers, topic)
    assert [(record.key, record.value) for record in found] == [
        (b"k", b"one"), (None, b""), (b"", None), ("ü".encode(), b"x" * 300),
    ]  # fmt: skip
    assert [record.headers for record in found] == [(("a", b"1"), ("b", None)), (), (), (("c", b""),)]
    assert [record.timestamp for record in found] == table["timestamp"].to_pylist()


@pytest.mark.parametrize("make", [pa.table, pandas.DataFrame, polars.DataFrame, pa.RecordBatch.from_pydict])
def test_pandas_and_polars_are_tables_too(servers, topic, make):
    create_topic(servers, topic, 1)
    with Producer(servers) as producer:
        table = make({"text": ["a", "b"], "name": ["x", "y"]})
        producer.send_table(topic, table, value="text", key="name").result(PATIENCE)
    assert [(record.key, record.value) for record in records_of(servers, topic)] == [
        (b"x", b"a"), (b"y", b"b"),
    ]  # fmt: skip


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["all", 0])
def test_many_batches_arrive_once_and_in_the_tables_order(servers, topic, compression, acks):
    create_topic(servers, topic, 3)
    values = [b"%06d" % number + b"x" * 60 for number in range(20_000)]
    table = pa.table({"value": values, "partition": [number % 3 for number in range(20_000)]})
    options = {"compression": compression, "acks": acks, "table_batch_size": 20_000, "buffer_memory": 400_000}
    with Producer(servers, **options) as producer:
        metadata = producer.send_table(topic, table).result(PATIENCE)
    assert metadata.rows == 20_000
    for partition in range(3):
        records = records_of(servers, topic, partition, end_least=len(values[partition::3]))
        assert [record.value for record in records] == values[partition::3]


@pytest.mark.parametrize(("name", "choose"), [("default", by_murmur2), ("md5", by_md5)])
def test_a_key_goes_where_a_single_record_goes(servers, topic, name, choose):
    create_topic(servers, topic, 5)
    keys = [b"key-%d" % (number % 300) for number in range(1000)]
    table = pa.table({"value": [b"%d" % number for number in range(1000)], "key": keys})
    with Producer(servers, partitioner=name) as producer:
        producer.send_table(topic, table).result(PATIENCE)
    for partition in range(5):
        expected = [n for n, key in enumerate(keys) if choose(topic, key, 5) == partition]
        assert [int(record.value) for record in records_of(servers, topic, partition)] == expected


def test_rows_without_a_key_are_spread_and_keep_their_order(servers, topic):
    create_topic(servers, topic, 3)
    table = pa.table({"value": [b"%06d" % number for number in range(30_000)]})
    with Producer(servers, table_batch_size=5_000) as producer:
        metadata = producer.send_table(topic, table).result(PATIENCE)
    assert set(metadata.partitions) == {0, 1, 2}
    for partition in range(3):
        numbers = [int(record.value) for record in records_of(servers, topic, partition)]
        assert numbers == sorted(numbers)
        assert len(numbers) == metadata.partitions[partition].rows


def test_other_partitioners(servers, topic):
    create_topic(servers, topic, 3)
    table = pa.table({"value": [b"a", b"b", b"c", b"d"], "key": ["k"] * 4})
    with Producer(servers, partitioner="round_robin") as producer:
        found = producer.send_table(topic, table).result(PATIENCE).partitions
        assert {index: got.rows for index, got in found.items()} == {0: 2, 1: 1, 2: 1}
        assert producer.send(topic, b"").result(PATIENCE).partition == 1, "they count together"
    with Producer(servers, partitioner=lambda topic, key, count: count - 1) as producer:
        assert set(producer.send_table(topic, table).result(PATIENCE).partitions) == {2}
    with Producer(servers) as producer:
        assert set(producer.send_table(topic, table, partition=1).result(PATIENCE).partitions) == {1}
        some = table.append_column("where", pa.array([0, None, None, 2]))
        placed = producer.send_table(topic, some, partition="where").result(PATIENCE).partitions
        keyed = by_murmur2(topic, b"k", 3)
        assert sum(got.rows for got in placed.values()) == 4
        assert placed[keyed].rows >= 2


def test_more_than_the_memory_holds_waits_for_room(servers, topic):
    create_topic(servers, topic, 1)
    table = pa.table({"value": [bytes(100)] * 50_000})
    with Producer(servers, buffer_memory=200_000, table_batch_size=50_000) as producer:
        assert producer.send_table(topic, table).result(PATIENCE).rows == 50_000
        assert producer.metrics().buffered_bytes == 0


def test_memory_that_stays_full_is_said(servers, topic):
    create_topic(servers, topic, 1)
    with Producer(servers, buffer_memory=10_000, max_block_ms=20) as producer:
        producer.send(topic, b"").result(PATIENCE)
        with producer._core._accumulator.lock:
            producer._core._accumulator.buffered_bytes += 9_990
        with pytest.raises(BufferFull, match=r"max_block_ms=20.*Of the table 0 rows were taken"):
            producer.send_table(topic, pa.table({"value": [bytes(100)]}))
        producer._core._accumulator.buffered_bytes -= 9_990


def test_what_a_topic_finds_too_large_is_cut_and_a_record_alone_refused(servers, topic):
    create_topic(servers, topic, 1, {"max.message.bytes": "20000"})
    values = [b"%05d" % number + b"x" * 400 for number in range(500)]
    with Producer(servers) as producer:
        metadata = producer.send_table(topic, pa.table({"value": values})).result(PATIENCE)
        assert metadata.partitions[0].rows == metadata.rows == 500
        assert producer.metrics().batches_split > 0
        assert [record.value for record in records_of(servers, topic)] == values
        future = producer.send_table(topic, pa.table({"value": [b"small", b"x" * 30_000]}))
        with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
            future.result(PATIENCE)
        assert (future.rows, future.rows_stored) == (2, 1)
        with pytest.raises(RecordTooLarge, match=r"row 1 for .*raise max_request_size"):
            producer.send_table(topic, pa.table({"value": [b"", b"x" * 2_000_000]}))


def test_what_cannot_be_sent_is_said(servers, topic):
    create_topic(servers, topic, 2)
    table = pa.table({"a": ["x"], "n": [7], "before": [-5]})
    with Producer(servers) as producer:
        for options, complaint in (
            ({}, "there is no column 'value': name the one that has the values"),
            ({"value": "b"}, "there is no column 'b' for value, only a, n, before"),
            ({"value": "a", "partition": "where"}, "there is no column 'where' for partition"),
            ({"value": "a", "partition": "a"}, "column 'a' is string: a partition is a number"),
            ({"value": "a", "partition": "n"}, "row 0 names partition 7 of topic .* which has 2"),
            ({"value": "a", "partition": 2}, "there is no partition 2 of topic"),
            ({"value": "n"}, "column 'value' cannot be read as binary"),
            ({"value": "a", "timestamp": "before"}, "a timestamp lies before 1970"),
        ):
            with pytest.raises(InvalidOption, match=complaint):
                producer.send_table(topic, table, **options)
        with pytest.raises(InvalidOption, match="not list"):
            producer.send_table(topic, [1, 2])
        assert producer.send_table(topic, table.slice(0, 0), value="a").result(0).rows == 0
    with pytest.raises(ClientClosed):
        producer.send_table(topic, table, value="a")


def test_a_table_belongs_to_the_transaction(servers, topic):
    create_topic(servers, topic, 2)
    table = pa.table(
        {"value": [b"%d" % number for number in range(100)], "key": [f"{n}" for n in range(100)]}
    )
    with Producer(servers, transactional_id=topic) as producer:
        with pytest.raises(ZeroDivisionError), producer.transaction():
            producer.send_table(topic, table).result(PATIENCE)
            raise ZeroDivisionError
        with producer.transaction():
            producer.send_table(topic, table)
        with pytest.raises(TransactionAborted):
            producer.send_table(topic, table)
    committed = [records_of(servers, topic, partition, is_committed=True) for partition in range(2)]
    assert sorted(int(record.value) for record in itertools.chain(*committed)) == list(range(100))


def test_tables_and_records_of_one_producer_stay_in_order(servers, topic):
    create_topic(servers, topic, 1)
    with Producer(servers) as producer:
        for number in range(0, 60, 3):
            producer.send(topic, b"%d" % number)
            producer.send_table(topic, pa.table({"value": [b"%d" % (number + 1), b"%d" % (number + 2)]}))
        producer.flush()
    assert [int(record.value) for record in records_of(servers, topic)] == list(range(60))


def test_the_async_producer_sends_tables_too(servers, topic):
    create_topic(servers, topic, 2)

    async def main():
        async with AsyncProducer(servers, buffer_memory=100_000, table_batch_size=10_000) as producer:
            table = pa.table({"value": [bytes(50)] * 5000})
            first = await producer.send_table(topic, table)
            told = []
            first.add_done_callback(lambda future: told.append(future.rows_stored))
            metadata = await first
            await producer.flush()
            return metadata.rows, told

    assert asyncio.run(main()) == (5000, [5000])
