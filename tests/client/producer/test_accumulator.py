"""Records that wait: batches, keys, memory."""

import pytest

from distributedlog.client.errors import ClientClosed, InvalidOption, RecordTooLarge
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.producer.accumulator import KEYS_REMEMBERED_MAX, Accumulator, TopicLanes
from distributedlog.client.producer.batch import RECORD_OVERHEAD
from distributedlog.client.producer.identity import Identity
from distributedlog.client.producer.lane import Lane
from distributedlog.client.producer.partitioners import by_murmur2
from distributedlog.client.producer.settings import ProducerSettings
from distributedlog.records import HEADER_SIZE, Compression


class Stage:
    def __init__(self, partitions=3, **options):
        self.now = 0.0
        self.woken = 0
        self.accumulator = Accumulator(ProducerSettings(**options), lambda: self.now, self.wake, self.after)
        lanes = [Lane(self.accumulator, TopicPartition("t", index), 1) for index in range(partitions)]
        self.lanes = lanes
        self.accumulator.topics["t"] = TopicLanes("t", bytes(16), lanes, lanes[0])

    def after(self, lanes):
        sticky = self.accumulator.topics["t"].sticky
        return lanes[(lanes.index(sticky) + 1) % len(lanes)]

    def wake(self):
        self.woken += 1

    def append(self, value=b"v", key=None, headers=None, partition=None, timestamp=1000, on_delivery=None):
        return self.accumulator.append("t", value, key, headers, partition, timestamp, on_delivery)


def records_of(lane):
    batches = [*lane.waiting, *([lane.open] if lane.open else [])]
    return [[value for _, _, value, _ in batch.records] for batch in batches]


def test_records_without_a_key_fill_one_partition_after_another():
    stage = Stage(batch_size=2 * (RECORD_OVERHEAD + 1))
    for number in range(6):
        stage.append(b"%d" % number)
    assert [records_of(lane) for lane in stage.lanes] == [[[b"0", b"1"]], [[b"2", b"3"]], [[b"4", b"5"]]]


def test_a_key_keeps_its_partition_also_when_its_batch_is_full():
    stage = Stage(batch_size=RECORD_OVERHEAD + 4)
    for _ in range(3):
        stage.append(b"v", key=b"key")
    lane = stage.lanes[by_murmur2("t", b"key", 3)]
    assert records_of(lane) == [[b"v"]] * 3


def test_remembered_keys_have_a_bound():
    stage = Stage(buffer_memory=10**9, max_request_size=10**9)
    for number in range(KEYS_REMEMBERED_MAX + 10):
        stage.append(key=b"%d" % number)
    assert len(stage.accumulator.topics["t"].by_key) == 10


def test_the_sender_is_woken_for_each_batch_and_not_for_each_record():
    stage = Stage()
    for _ in range(100):
        stage.append(partition=0)
    assert stage.woken == 1
    stage.accumulator.is_awake = False
    stage.append(partition=0)
    assert stage.woken == 1
    stage.append(partition=1)
    assert stage.woken == 2


def test_memory_is_taken_until_a_batch_is_done_and_then_those_who_wait_are_told():
    size = RECORD_OVERHEAD + 1
    stage = Stage(buffer_memory=4 * size)
    for _ in range(4):
        assert stage.append(partition=0) is not None
    told = []
    stage.accumulator.wait_for_room(lambda: told.append(1))
    assert stage.append(partition=0) is None
    batch = stage.lanes[0].open
    stage.accumulator.close_open(stage.lanes[0])
    assert told == []
    stage.accumulator.finish(batch, 0, -1, None)
    assert told == [1]
    assert stage.accumulator.buffered_bytes == 0
    assert stage.append(partition=0) is not None


def test_linger_is_over_at_once_while_somebody_waits_for_memory():
    stage = Stage(linger_ms=1000)
    stage.append(partition=0)
    batch = stage.lanes[0].open
    assert stage.accumulator.ripe_at(batch) == 1.0
    stage.accumulator.wait_for_room(lambda: None)
    assert stage.accumulator.ripe_at(batch) == 0.0


def test_a_future_knows_its_place_when_its_batch_is_done():
    stage = Stage()
    futures = [stage.append(partition=1, timestamp=number) for number in range(3)]
    assert not any(future.done() for future in futures)
    stage.accumulator.finish(stage.lanes[1].open, 40, -1, None)
    assert [future.result(0) for future in futures] == [("t", 1, 40, 0), ("t", 1, 41, 1), ("t", 1, 42, 2)]


def test_the_brokers_time_counts_where_it_gave_one():
    stage = Stage()
    future = stage.append(partition=1, timestamp=5)
    stage.accumulator.finish(stage.lanes[1].open, 40, 77, None)
    assert future.result().timestamp == 77


def test_a_future_that_is_not_done_in_time_is_a_timeout():
    future = Stage().append()
    with pytest.raises(TimeoutError, match=r"no acknowledgement from t-0 within 0\.01 s"):
        future.result(0.01)


def test_whoever_waits_ends_the_linger():
    stage = Stage(linger_ms=10_000)
    future = stage.append(partition=0)
    with pytest.raises(TimeoutError):
        future.result(0)
    assert stage.lanes[0].open is None
    assert len(stage.lanes[0].waiting) == 1


def test_call_backs_get_what_became_of_the_record_and_none_stops_another(caplog):
    stage = Stage()
    told = []

    def bad(metadata, error):
        raise ValueError("oops")

    stage.append(on_delivery=bad)
    stage.append(on_delivery=lambda *what: told.append(what))
    future = stage.append()
    future.add_done_callback(told.append)
    error = ClientClosed("gone")
    stage.accumulator.finish(stage.lanes[0].open, -1, -1, error)
    assert told == [future, (None, error)]
    assert "on_delivery of a record for t-0 failed" in caplog.text
    future.add_done_callback(told.append)
    assert told[-1] is future


def test_parts_of_a_batch_answer_for_their_records():
    stage = Stage()
    futures = [stage.append(b"%d" % number, partition=0) for number in range(5)]
    whole = stage.lanes[0].open
    stage.accumulator.close_open(stage.lanes[0])
    first, second = whole.split()
    second_a, second_b = second.split()
    for offset, part in ((100, first), (200, second_a), (300, second_b)):
        part.finish(offset, -1, None)
    whole.finish(-1, -1, None)
    assert [future.result(0).offset for future in futures] == [100, 101, 200, 300, 301]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"value": "text"}, "a record's value must be bytes, not str"),
        ({"key": 7}, "a record's key must be bytes, not int"),
        ({"timestamp": -5}, "timestamp is -5"),
        ({"timestamp": 1.5}, "timestamp is 1.5"),
        ({"partition": 3}, "there is no partition 3 of topic 't': it has 3, numbered from 0"),
        ({"partition": -1}, "there is no partition -1"),
        ({"headers": {b"name": b""}}, "a header's name must be a text"),
        ({"headers": [("name", "text")]}, "a record's header must be bytes"),
    ],
)
def test_what_no_record_can_be_is_said_at_once(record, message):
    stage = Stage()
    with pytest.raises(InvalidOption, match=message):
        stage.append(**record)
    assert stage.accumulator.buffered_bytes == 0


def test_other_kinds_of_bytes_are_taken_as_they_are_now():
    stage = Stage()
    buffer = bytearray(b"abc")
    stage.append(buffer, key=memoryview(b"key"), partition=0, headers={"h": bytearray(b"x"), "n": None})
    buffer[0] = 0
    assert stage.lanes[0].open.records == [(1000, b"key", b"abc", (("h", b"x"), ("n", None)))]


def test_a_record_above_the_limit_is_refused_before_anybody_is_asked():
    with pytest.raises(RecordTooLarge, match="more than max_request_size=1000: raise max_request_size"):
        Stage(max_request_size=1000).append(b"x" * 1000)
    with pytest.raises(RecordTooLarge, match="more than buffer_memory=500"):
        Stage(buffer_memory=500).append(b"x" * 500)


def test_a_batch_of_the_size_limit_never_gets_larger_than_it():
    stage = Stage(batch_size=500)
    for number in range(200):
        headers = {"header": b"x" * (number % 30)} if number % 3 else None
        stage.append(b"v" * (number % 97), key=b"k" * (number % 13), partition=0, headers=headers)
    for batch in stage.lanes[0].waiting:
        batch.number(Identity(1, 1), 0)
        assert len(batch.encode(Compression.NONE, None, False)) - HEADER_SIZE <= batch.size <= 500


def test_a_refusal_is_raised_for_every_record():
    stage = Stage()
    stage.accumulator.refuse(ClientClosed("the producer is closed"))
    with pytest.raises(ClientClosed):
        stage.append()
    stage.accumulator.refuse(None)
    assert stage.append() is not None
