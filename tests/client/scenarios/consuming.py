"""What a consumer promises, on any Kafka cluster: `servers` is a fixture of the module that imports this."""

import asyncio
import contextlib
import re
import time

import pytest
from tests.client.scenarios.reading import create_topic, delete_topic, on_cluster

from distributedlog import AsyncConsumer, Consumer, TopicPartition
from distributedlog.client import topics
from distributedlog.client.errors import (
    BrokerError,
    ClientClosed,
    InvalidOption,
    NoOffset,
    SerialisationFailed,
    UnknownOption,
)
from distributedlog.client.producer.producer import Producer
from distributedlog.client.serialisers import from_json, from_text, to_json

PATIENCE = 60
QUICK = {
    "retry_backoff_ms": 5,
    "retry_backoff_max_ms": 50,
    "fetch_max_wait_ms": 100,
    "heartbeat_interval_ms": 100,
    "session_timeout_ms": 6000,
}


def consumer(servers, **options):
    return Consumer(servers, **{**QUICK, "auto_offset_reset": "earliest", **options})


def write(servers, topic, values, **options):
    with Producer(servers, linger_ms=0) as producer:
        for future in producer.send_many(topic, values, **options):
            future.result(PATIENCE)


def numbered(count, start=0):
    return [b"%06d" % number for number in range(start, start + count)]


def read(reader, count):
    """So many records, and no more."""
    deadline = time.monotonic() + PATIENCE
    records = []
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records"
        records += reader.poll(0.5)
    assert len(records) == count
    return records


def values_of(records):
    return [record.value for record in records]


def wait_until(condition, *readers):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        for reader in readers:
            reader.poll(0.05)


def test_a_record_comes_as_it_was_sent(servers, topic):
    with Producer(servers) as producer:
        headers = [("trace", b"1"), ("empty", None)]
        producer.send(topic, b"a hat", key=b"ann", headers=headers, timestamp=1_700_000_000_000).result(
            PATIENCE
        )
        producer.send(topic, None, timestamp=1).result(PATIENCE)
    with consumer(servers) as reader:
        reader.subscribe(topic)
        first, second = read(reader, 2)
    assert first == (topic, 0, 0, 1_700_000_000_000, b"ann", b"a hat", (("trace", b"1"), ("empty", None)))
    assert first.topic_partition == TopicPartition(topic, 0)
    assert (second.offset, second.key, second.value, second.headers) == (1, None, None, ())


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_everything_once_and_in_order(servers, topic, compression):
    create_topic(servers, topic, 3)
    sent = numbered(3000)
    with Producer(servers, compression=compression, batch_size=5000) as producer:
        for number, value in enumerate(sent):
            future = producer.send(topic, value, partition=number % 3)
            if number < 3:
                future.result(PATIENCE)
    options = {"max_poll_records": 170, "max_partition_fetch_bytes": 20_000, "prefetch_bytes": 30_000}
    with consumer(servers, **options) as reader:
        reader.subscribe(topic)
        records = []
        while len(records) < len(sent):
            records += reader.poll(PATIENCE)
        assert reader.metrics().records_consumed == 3000
        assert set(reader.lag().values()) == {0}
    for partition in range(3):
        of_partition = [record for record in records if record.partition == partition]
        assert values_of(of_partition) == sent[partition::3]
        assert [record.offset for record in of_partition] == list(range(1000))


def test_polls_give_no_more_than_was_asked_for(servers, topic):
    write(servers, topic, numbered(50))
    with consumer(servers, max_poll_records=20) as reader:
        reader.assign([(topic, 0)])
        assert len(reader.poll(PATIENCE)) == 20
        assert len(reader.poll(PATIENCE, max_records=7)) == 7
        assert reader.position((topic, 0)) == 27
        assert len(reader.poll(PATIENCE)) == 20
        assert values_of(reader.poll(PATIENCE)) == numbered(3, 47)
        assert reader.poll(0) == []


def test_iteration_hands_out_one_by_one_and_commits_what_was_read(servers, topic):
    write(servers, topic, numbered(100))
    options = {"group_id": topic, "delivery": "at_least_once"}
    with consumer(servers, **options) as reader:
        reader.subscribe(topic)
        for number, record in enumerate(reader):
            assert record.value == b"%06d" % number
            if number == 29:
                break
        assert reader.position((topic, 0)) == 30
    with consumer(servers, **options) as reader:
        reader.subscribe(topic)
        assert next(reader).value == b"000030"
        assert values_of(reader.poll(0, max_records=5)) == numbered(5, 31)
        reader.seek((topic, 0), 90)
        assert [next(reader).value for _ in range(10)] == numbered(10, 90)


def test_what_fails_is_read_again(servers, topic):
    write(servers, topic, numbered(10))
    options = {"group_id": topic, "delivery": "at_least_once", "auto_commit_interval_ms": 0}
    with pytest.raises(ZeroDivisionError), consumer(servers, max_poll_records=4, **options) as reader:
        reader.subscribe(topic)
        for record in reader:
            if record.offset == 6:
                raise ZeroDivisionError
    with consumer(servers, **options) as reader:
        reader.subscribe(topic)
        assert next(reader).offset in {0, 4}, "the first four may be committed already, nothing behind them"


def test_at_most_once_commits_before_it_hands_out(servers, topic):
    write(servers, topic, numbered(10))
    options = {"group_id": topic, "delivery": "at_most_once"}
    with pytest.raises(ZeroDivisionError), consumer(servers, max_poll_records=4, **options) as reader:
        reader.subscribe(topic)
        while not (records := reader.poll(0.5)):
            pass
        assert values_of(records) == numbered(4)
        assert reader.committed()[topic, 0].offset == 4
        raise ZeroDivisionError
    with consumer(servers, **options) as reader:
        reader.subscribe(topic)
        assert next(reader).offset == 4


def test_positions_and_commits_are_two_things(servers, topic):
    write(servers, topic, numbered(10))
    place = TopicPartition(topic, 0)
    with consumer(servers, group_id=topic, enable_auto_commit=False) as reader:
        reader.subscribe(topic)
        read(reader, 10)
        assert reader.committed() == {}
        reader.commit({place: 4})
        assert reader.committed()[place].offset == 4
        assert reader.position(place) == 10
        reader.commit({place: (5, "half")})
        found = reader.committed([place])[place]
        assert (found.offset, found.metadata) == (5, "half")
        told = []
        reader.commit_async(on_done=lambda offsets, error: told.append((offsets[place].offset, error)))
        wait_until(lambda: told, reader)
        assert told == [(10, None)]
        assert reader.committed()[place].offset == 10
    with consumer(servers, group_id=topic, enable_auto_commit=False) as reader:
        reader.assign([place])
        assert reader.position(place) == 10


def test_seeking(servers, topic):
    create_topic(servers, topic, 2)
    with Producer(servers) as producer:
        for number in range(20):
            producer.send(topic, b"%d" % number, partition=0, timestamp=1000 + 10 * number)
    place, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with consumer(servers, auto_offset_reset="latest") as reader:
        reader.assign([place, empty])
        assert reader.position(place) == 20
        reader.seek(place, 17)
        assert values_of(read(reader, 3)) == [b"17", b"18", b"19"]
        reader.seek_to_beginning()
        assert len(read(reader, 20)) == 20
        reader.seek_to_time(1095, place)
        assert read(reader, 10)[0].value == b"10"
        reader.seek_to_time(5000)
        assert reader.position(place) == 20
        reader.seek_to_beginning(place)
        reader.seek_to_end(place)
        assert reader.position(place) == 20
        assert reader.beginning_offsets([place, empty]) == {place: 0, empty: 0}
        assert reader.end_offsets([place, empty]) == {place: 20, empty: 0}
        found = reader.offsets_for_times({place: 1095, empty: 0})
        assert (found[place].offset, found[place].timestamp, found[empty]) == (10, 1100, None)
        with pytest.raises(InvalidOption, match=r"is not assigned to this consumer"):
            reader.seek((topic, 7), 0)
        with pytest.raises(InvalidOption, match="0 or more"):
            reader.seek(place, -1)


def test_seeking_while_a_long_poll_waits_does_not_wait_for_it(servers, topic):
    write(servers, topic, numbered(3))
    with consumer(servers, fetch_max_wait_ms=PATIENCE * 1000) as reader:
        reader.assign([(topic, 0)])
        read(reader, 3)
        begun = time.monotonic()
        reader.seek((topic, 0), 1)
        read(reader, 2)
        assert time.monotonic() - begun < PATIENCE / 2


def test_paused_partitions_rest_and_lose_nothing(servers, topic):
    create_topic(servers, topic, 2)
    with Producer(servers) as producer:
        for number in range(40):
            producer.send(topic, b"%d" % number, partition=number % 2)
    with consumer(servers, max_poll_records=5) as reader:
        reader.assign([(topic, 0), (topic, 1)])
        seen = read(reader, 5)
        reader.pause((topic, 0))
        assert reader.paused() == {(topic, 0)}
        left = 20 - sum(record.partition == 1 for record in seen)
        rested = read(reader, left)
        assert {record.partition for record in rested} == {1}
        assert reader.poll(0.2) == []
        reader.resume((topic, 0))
        seen += rested + read(reader, 40 - len(seen) - left)
    for partition in range(2):
        assert [int(record.value) for record in seen if record.partition == partition] == list(
            range(partition, 40, 2)
        )


def test_where_to_begin(servers, topic):
    write(servers, topic, numbered(5))
    place = TopicPartition(topic, 0)
    with consumer(servers, auto_offset_reset="latest") as reader:
        reader.assign([place])
        assert reader.position(place) == 5
        write(servers, topic, [b"new"])
        assert values_of(read(reader, 1)) == [b"new"]
    with consumer(servers, auto_offset_reset="none") as reader:
        reader.assign([place])
        for _ in range(2):
            with pytest.raises(
                NoOffset, match=r"nothing says where to begin in .*-0, and auto_offset_reset is 'none'"
            ):
                reader.poll(PATIENCE)
        reader.seek(place, 4)
        assert read(reader, 2)[0].offset == 4
        reader.seek(place, 100)
        with pytest.raises(NoOffset, match="has no offset 100: it was deleted, or never written"):
            reader.poll(PATIENCE)
    with consumer(servers, auto_offset_reset="earliest") as reader:
        reader.assign([place])
        reader.seek(place, 100)
        assert read(reader, 6)[0].offset == 0
    with consumer(servers, auto_offset_reset="none", group_id=topic) as reader:
        reader.subscribe(topic)
        with pytest.raises(NoOffset, match="has committed no offset of"):
            reader.poll(PATIENCE)


def test_deserialisers_are_plain_callables(servers, topic):
    with Producer(servers, value_serializer=to_json) as producer:
        producer.send(topic, {"n": 1}, key=b"ann").result(PATIENCE)
        producer.send(topic, None, key=b"bob").result(PATIENCE)
        producer.send(topic, {"n": 2}, key=b"\xff").result(PATIENCE)
        producer.send(topic, {"n": 3}).result(PATIENCE)
    with consumer(servers, key_deserializer=from_text, value_deserializer=from_json) as reader:
        reader.assign([(topic, 0)])
        assert [(record.key, record.value) for record in read(reader, 2)] == [
            ("ann", {"n": 1}),
            ("bob", None),
        ]
        for _ in range(2):
            with pytest.raises(
                SerialisationFailed, match=r"the key of .*-0 at offset 2 cannot .*; seek behind it"
            ):
                reader.poll(PATIENCE)
        assert reader.position((topic, 0)) == 2
        reader.seek((topic, 0), 3)
        assert values_of(read(reader, 1)) == [{"n": 3}]


def test_a_subscription_without_a_group_reads_all_of_its_topics(servers, topic):
    create_topic(servers, topic, 3)
    with consumer(servers) as reader:
        reader.subscribe([topic])
        wait_until(lambda: len(reader.assignment()) == 3, reader)
        assert reader.subscription() == {topic}
        reader.unsubscribe()
        assert reader.assignment() == set()
        with pytest.raises(InvalidOption, match="there is nothing to poll"):
            reader.poll(0)


def test_a_pattern_finds_topics_also_later_ones_and_no_others(servers, topic):
    for name in ("a", "b"):
        create_topic(servers, f"{topic}-yes-{name}")
    create_topic(servers, f"other-{topic}-yes-c")
    with consumer(servers, group_id=topic, metadata_max_age_ms=100) as reader:
        reader.subscribe(pattern=re.compile(re.escape(topic) + "-yes-.*"))
        wait_until(
            lambda: {p.topic for p in reader.assignment()} == {f"{topic}-yes-a", f"{topic}-yes-b"}, reader
        )
        create_topic(servers, f"{topic}-yes-later")
        wait_until(lambda: len(reader.assignment()) == 3, reader)


def test_new_partitions_are_read(servers, topic):
    create_topic(servers, topic, 1)
    with consumer(servers, group_id=topic, metadata_max_age_ms=100) as reader:
        reader.subscribe(topic)
        wait_until(lambda: len(reader.assignment()) == 1, reader)
        on_cluster(servers, lambda client: topics.create_partitions(client, topic, 2))
        wait_until(lambda: len(reader.assignment()) == 2, reader)


def test_a_topic_that_is_not_there_is_told_once_and_read_when_it_comes(servers, topic):
    with consumer(servers, allow_auto_create_topics=False) as reader:
        reader.subscribe(topic)
        with pytest.raises(
            BrokerError, match=r"there is no topic of this name.*create it, and this consumer"
        ):
            reader.poll(PATIENCE)
        create_topic(servers, topic)
        write(servers, topic, [b"late"])
        assert values_of(read(reader, 1)) == [b"late"]


def test_a_partition_that_is_not_there_and_a_topic_deleted_under_a_reader(servers, topic):
    create_topic(servers, topic, 2)
    with consumer(servers, default_api_timeout_ms=300) as reader:
        reader.assign([(topic, 2)])
        with pytest.raises(BrokerError, match="has 2 partitions, numbered from 0"):
            reader.poll(PATIENCE)
        reader.assign([(topic, 0)])
        assert reader.position((topic, 0)) == 0
        delete_topic(servers, topic)
        with pytest.raises(BrokerError, match=r"there is no topic .*, or no right to see it"):
            reader.poll(PATIENCE)


def test_options_are_checked(servers):
    for options, said in [
        ({"max_pol_records": 5}, "did you mean 'max_poll_records'"),
        ({"max.poll.records": 5}, "it is written 'max_poll_records' here"),
        ({"max_poll_records": 0}, "the least is 1"),
        ({"auto_offset_reset": "beginning"}, "must be one of 'earliest', 'latest', 'none'"),
        ({"delivery": "at_least_once"}, "delivery needs a group_id"),
        ({"delivery": "at_most_once", "group_id": "g", "enable_auto_commit": True}, "says already when"),
        ({"partition_assignment_strategy": "best"}, "there is no assignor 'best'"),
        ({"session_timeout_ms": 1000, "group_id": "g"}, "must be less than session_timeout_ms=1000"),
    ]:
        with pytest.raises((InvalidOption, UnknownOption), match=re.escape(said)):
            Consumer(servers, **options)
    with consumer(servers) as reader:
        with pytest.raises(InvalidOption, match="committing needs a consumer with a group_id"):
            reader.commit({("t", 0): 1})
        with pytest.raises(InvalidOption, match="by their names, or to a pattern"):
            reader.subscribe()
        reader.assign([("t", 0)])
        with pytest.raises(InvalidOption, match="unsubscribe first"):
            reader.subscribe("t")


def test_a_closed_consumer_says_so(servers, topic):
    reader = consumer(servers, group_id=topic)
    reader.subscribe(topic)
    reader.close()
    reader.close()
    for call in (reader.poll, reader.commit, lambda: reader.subscribe("t"), lambda: reader.seek(("t", 0), 1)):
        with pytest.raises(ClientClosed):
            call()


def test_the_listener_hears_of_everything_and_may_seek_and_commit(servers, topic):
    create_topic(servers, topic, 2)
    with Producer(servers) as producer:
        for number in range(20):
            producer.send(topic, b"%d" % number, partition=number % 2)
    told = []
    options = {"group_id": topic, "enable_auto_commit": False}
    with consumer(servers, **options) as one:

        def assigned(partitions):
            told.append(("assigned", sorted(partitions)))
            for partition in partitions:
                one.seek(partition, 5)

        def revoked(partitions):
            told.append(("revoked", sorted(partitions)))
            one.commit()

        one.subscribe(topic, on_assigned=assigned, on_revoked=revoked)
        assert {record.offset for record in read(one, 10)} == set(range(5, 10))
        with consumer(servers, **options) as two:
            two.subscribe(topic)
            wait_until(lambda: len(one.assignment()) == len(two.assignment()) == 1, one, two)
            assert two.position(*two.assignment()) == 10
    both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    assert told[:2] == [("assigned", both), ("revoked", both)]
    assert told[2][0] == "assigned"
    assert told[-1][0] == "revoked"


def test_a_listener_that_raises_is_heard_and_the_group_goes_on(servers, topic):
    write(servers, topic, numbered(3))

    def assigned(partitions):
        raise ZeroDivisionError

    with consumer(servers, group_id=topic) as reader:
        reader.subscribe(topic, on_assigned=assigned)
        with pytest.raises(ZeroDivisionError) as caught:
            reader.poll(PATIENCE)
        assert len(read(reader, 3)) == 3
        assert caught.value.__traceback__ is not None


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_members_share_and_take_over(servers, topic, assignor):
    create_topic(servers, topic, 4)
    options = {"group_id": topic, "partition_assignment_strategy": assignor}
    with Producer(servers) as producer, contextlib.ExitStack() as stack:
        seen = []

        def turn(*readers):
            for reader in readers:
                seen.extend(record.value for record in reader.poll(0.05))

        def share(*readers):
            deadline = time.monotonic() + PATIENCE
            while True:
                turn(*readers)
                held = [reader.assignment() for reader in readers]
                if all(held) and len(set().union(*held)) == 4 == sum(map(len, held)):
                    return held
                assert time.monotonic() < deadline

        for number in range(100):
            producer.send(topic, b"%d" % number, partition=number % 4)
        one = stack.enter_context(consumer(servers, **options))
        one.subscribe(topic)
        share(one)
        two = stack.enter_context(consumer(servers, **options))
        two.subscribe(topic)
        before = share(one, two)[0]
        assert len(before) == 2
        three = stack.enter_context(consumer(servers, **options))
        three.subscribe(topic)
        held = share(one, two, three)
        if "sticky" in assignor:
            assert held[0] <= before
        two.close()
        held = share(one, three)
        for number in range(100, 200):
            producer.send(topic, b"%d" % number, partition=number % 4)
        deadline = time.monotonic() + PATIENCE
        while len(seen) < 200:
            assert time.monotonic() < deadline, len(seen)
            turn(one, three)
    assert sorted(map(int, seen)) == list(range(200)), "nobody left in the middle, so nothing came twice"


def test_a_static_member_comes_back_to_its_partitions(servers, topic):
    create_topic(servers, topic, 2)
    options = {"group_id": topic}
    changes = []
    with consumer(servers, group_instance_id="one", **options) as one:
        one.subscribe(topic, on_assigned=changes.append)
        with consumer(servers, group_instance_id="two", **options) as two:
            two.subscribe(topic)
            wait_until(lambda: len(one.assignment()) == len(two.assignment()) == 1, one, two)
            had, count = two.assignment(), len(changes)
        with consumer(servers, group_instance_id="two", **options) as two:
            two.subscribe(topic)
            wait_until(lambda: two.assignment() == had, one, two)
            assert len(changes) == count


def test_a_member_that_does_not_poll_loses_its_partitions_and_joins_again(servers, topic):
    create_topic(servers, topic, 2)
    options = {"group_id": topic, "max_poll_interval_ms": 500}
    lost = []
    with consumer(servers, **options) as sleepy, consumer(servers, group_id=topic) as awake:
        sleepy.subscribe(topic, on_lost=lost.append)
        wait_until(lambda: len(sleepy.assignment()) == 2, sleepy)
        awake.subscribe(topic)
        wait_until(lambda: len(awake.assignment()) == 2, awake)
        wait_until(lambda: len(awake.assignment()) == len(sleepy.assignment()) == 1, sleepy, awake)
        assert len(lost) == 1


def test_the_async_consumer_does_the_same(servers, topic):
    create_topic(servers, topic, 2)
    with Producer(servers) as producer:
        for number in range(100):
            producer.send(topic, b"%d" % number, partition=number % 2)
    told = []

    async def assigned(partitions):
        await asyncio.sleep(0)
        told.append(sorted(partitions))

    async def main():
        options = {**QUICK, "auto_offset_reset": "earliest", "group_id": topic}
        async with asyncio.timeout(PATIENCE), AsyncConsumer(servers, **options) as reader:
            await reader.subscribe(topic, on_assigned=assigned)
            seen = []
            async for record in reader:
                seen.append(record)
                if len(seen) == 60:
                    break
            while len(seen) < 100:
                seen += await reader.poll(1)
            await reader.commit()
            found = await reader.committed()
            assert {each.offset for each in found.values()} == {50}
            for place in reader.assignment():
                assert await reader.position(place) == 50
                reader.seek(place, 49)
            assert {record.offset for record in await reader.poll(PATIENCE)} == {49}
            assert await reader.partitions_for(topic) == 2
            return seen

    seen = asyncio.run(main())
    assert sorted(int(record.value) for record in seen) == list(range(100))
    assert told == [[(topic, 0), (topic, 1)]]


def test_tables_without_an_object_for_each_record(servers, topic):
    create_topic(servers, topic, 2)
    with Producer(servers, compression="zstd") as producer:
        for number in range(1000):
            producer.send(topic, b"%d" % number, key=b"k", headers=[("h", b"v")], partition=number % 2)
    with consumer(servers) as reader:
        reader.assign([(topic, 0), (topic, 1)])
        first = reader.poll(PATIENCE, max_records=10)
        tables = []
        while sum(table.num_rows for table in tables) < 990:
            tables.append(reader.poll_table(PATIENCE, columns=["partition", "value", "topic", "offset"]))
        rows = [row for table in tables for row in table.to_pylist()]
        assert tables[0].column_names == ["partition", "value", "topic", "offset"]
        assert {row["topic"] for row in rows} == {topic}
        for partition in range(2):
            values = [record.value for record in first if record.partition == partition]
            values += [row["value"] for row in rows if row["partition"] == partition]
            assert [int(value) for value in values] == list(range(partition, 1000, 2))
        assert set(reader.positions().values()) == {500}
        empty = reader.poll_table(0)
        assert (empty.num_rows, empty.num_columns) == (0, 8)
        reader.seek((topic, 0), 499)
        [row] = reader.poll_table(PATIENCE).to_pylist()
        assert (row["key"], row["headers"]) == (b"k", [{"key": "h", "value": b"v"}])
        with pytest.raises(InvalidOption, match="there is no column 'vlaue'"):
            reader.poll_table(columns=["vlaue"])
