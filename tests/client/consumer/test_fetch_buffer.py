"""What two threads share: chunks go in, records come out, positions jump."""

import pytest

from distributedlog.client.consumer.chunk import Chunk, Reach
from distributedlog.client.consumer.fetch_buffer import FetchBuffer
from distributedlog.client.errors import BrokerError, InvalidOption, SerialisationFailed, UnexpectedResponse
from distributedlog.client.metadata import TopicPartition
from distributedlog.records import BatchBuilder, ControlType, build_control_batch

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def batch(base_offset, *values, **options):
    builder = BatchBuilder(**options)
    for number, value in enumerate(values):
        builder.append(1000 + number, None, value)
    return bytes(builder.build(base_offset, 3))


class Stage:
    def __init__(self, partition_bytes_max=10_000, bytes_max=100_000):
        self.rung = self.room = 0
        self.buffer = FetchBuffer(partition_bytes_max, bytes_max, self._ring, self._make_room)
        self.buffer.add([T0, T1])
        for place in (T0, T1):
            self.buffer.jump(self.state(place), 0)

    def _ring(self):
        self.rung += 1

    def _make_room(self):
        self.room += 1

    def state(self, place=T0):
        return self.buffer.state_of(place)

    def put(self, data, place=T0, offset=None, aborted=(), deserializers=None):
        state = self.state(place)
        start = state.fetch_offset if offset is None else offset
        chunk = Chunk(state, state.serial, data, start, aborted, Reach(data), deserializers=deserializers)
        self.buffer.put(chunk)
        return chunk

    def take(self, limit=100):
        return [record.value for record in self.buffer.take(limit)]


@pytest.fixture
def stage():
    return Stage()


def test_records_come_out_in_the_order_in_which_their_chunks_came(stage):
    stage.put(batch(0, b"a", b"b") + batch(2, b"c"))
    stage.put(batch(0, b"x"), T1)
    stage.put(batch(3, b"d"))
    assert stage.rung == 3
    assert stage.take(2) == [b"a", b"b"]
    assert stage.state().position == 2
    assert stage.take() == [b"c", b"x", b"d"]
    assert (stage.state().position, stage.state(T1).position) == (4, 1)
    assert stage.state().position_epoch == 3
    assert stage.take() == []
    assert stage.buffer.buffered_bytes == stage.state().buffered_bytes == 0


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_a_limit_may_cut_batches_anywhere(stage, limit):
    stage.put(batch(0, *(b"%d" % n for n in range(5))) + batch(5, *(b"%d" % n for n in range(5, 11))))
    found = []
    while values := stage.take(limit):
        assert len(values) <= limit
        found += values
        assert stage.state().position == len(found)
    assert found == [b"%d" % n for n in range(11)]


def test_a_broker_sends_whole_batches_and_the_front_is_dropped(stage):
    stage.buffer.jump(stage.state(), 3)
    stage.put(batch(0, b"0", b"1", b"2", b"3", b"4"))
    assert stage.take() == [b"3", b"4"]


def test_a_jump_voids_what_had_come_and_what_is_under_way(stage):
    late = stage.put(batch(0, b"old"))
    stage.put(batch(0, b"other"), T1)
    stage.buffer.jump(stage.state(), 7)
    stage.buffer.put(late)
    assert stage.take() == [b"other"]
    assert stage.state().position == 7


def test_what_a_partition_holds_when_it_is_taken_away_is_gone(stage):
    stage.put(batch(0, b"old"))
    stage.buffer.remove([T0])
    assert stage.take() == []
    with pytest.raises(InvalidOption, match="t-0 is not assigned to this consumer"):
        stage.state()


def test_a_paused_partition_keeps_what_has_come(stage):
    stage.put(batch(0, b"a", b"b"))
    stage.put(batch(0, b"x"), T1)
    assert stage.take(1) == [b"a"]
    stage.buffer.pause(stage.state())
    assert stage.take() == [b"x"]
    assert not stage.buffer.may_fetch(stage.state())
    stage.buffer.resume(stage.state())
    assert stage.take() == [b"b"]


def test_a_full_partition_is_not_fetched_until_there_is_room():
    stage = Stage(partition_bytes_max=100)
    stage.put(batch(0, b"x" * 200))
    assert not stage.buffer.may_fetch(stage.state())
    assert stage.buffer.may_fetch(stage.state(T1))
    stage.take()
    assert stage.room == 1
    assert stage.buffer.may_fetch(stage.state())


def test_when_all_is_full_only_who_has_nothing_is_fetched():
    stage = Stage(bytes_max=100)
    stage.put(batch(0, b"x" * 200))
    assert not stage.buffer.may_fetch(stage.state())
    assert stage.buffer.may_fetch(stage.state(T1))
    stage.take()
    assert stage.room == 1


def test_control_batches_and_aborted_ones_are_passed(stage):
    wrote = {"producer_id": 9, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
    marker = build_control_batch(ControlType.ABORT, 0, producer_id=9, producer_epoch=0, base_offset=3)
    stage.put(
        batch(0, b"0") + batch(1, b"1", b"2", **wrote) + bytes(marker) + batch(4, b"4", **wrote),
        aborted=[(9, 1)],
    )
    assert stage.take() == [b"0", b"4"]
    stage.put(
        bytes(build_control_batch(ControlType.COMMIT, 0, producer_id=9, producer_epoch=0, base_offset=5))
    )
    assert stage.take() == []
    assert stage.state().position == 6


def test_damage_is_raised_each_time_until_somebody_seeks(stage):
    damaged = bytearray(batch(1, b"b"))
    damaged[-2] ^= 1
    stage.put(batch(0, b"a") + bytes(damaged))
    assert stage.take() == [b"a"]
    for _ in range(2):
        with pytest.raises(
            UnexpectedResponse, match=r"what t-0 holds at offset 1 cannot be read: .*CRC.*seek behind"
        ):
            stage.take()
    assert stage.state().position == 1
    stage.buffer.jump(stage.state(), 2)
    assert stage.take() == []


def test_a_deserialiser_that_refuses_leaves_the_position_before_the_record(stage):
    stage.put(batch(0, b"1", b"2", b"x", b"4"), deserializers=(None, int))
    assert stage.take() == [1, 2]
    with pytest.raises(SerialisationFailed, match="the value of t-0 at offset 2"):
        stage.take()
    assert stage.state().position == 2


def test_an_error_is_told_once_and_not_when_it_is_out_of_date(stage):
    error = BrokerError(29, "read t-0")
    stage.buffer.fail(stage.state(), error)
    assert not stage.buffer.may_fetch(stage.state())
    assert stage.buffer.take_failure() is error
    assert stage.buffer.take_failure() is None
    assert stage.buffer.may_fetch(stage.state())
    stage.buffer.fail(stage.state(), error)
    stage.buffer.jump(stage.state(), 5)
    assert stage.buffer.take_failure() is None


def test_how_far_whole_batches_reach():
    data = batch(0, b"a", b"b") + batch(2, b"c")
    reach = Reach(data)
    assert (reach.size, reach.next_offset, reach.leader_epoch) == (len(data), 3, 3)
    for cut in (1, 30, 70):
        reach = Reach(data[:-cut])
        assert (reach.size, reach.next_offset) in {(len(batch(0, b"a", b"b")), 2), (0, -1)}
    assert Reach(b"").next_offset == -1
    assert Reach(bytes(100)).next_offset == -1
