"""What a lane sends, in which order and under which numbers."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from distributedlog.client.metadata import TopicPartition
from distributedlog.client.producer.batch import Batch
from distributedlog.client.producer.identity import SEQUENCES, Identity
from distributedlog.client.producer.lane import Lane

FIRST, SECOND = Identity(7, 0), Identity(7, 1)


def lane_with(count, records=10):
    """A lane to a leader that knows the producer already."""
    lane = Lane(None, TopicPartition("orders", 0), 1)
    lane.known_producer_id = FIRST.producer_id
    for number in range(count):
        batch = Batch(lane, (number,), 0.0, 120.0)
        batch.records = [(0, None, b"", ())] * records
        batch.close()
        lane.waiting.append(batch)
    return lane, list(lane.waiting)


def depart_all(lane, identity=FIRST):
    gone = []
    while lane.next_batch(0.0) is not None:
        gone.append(lane.depart(identity))
    return gone


def test_batches_are_numbered_as_they_leave():
    lane, batches = lane_with(3)
    assert depart_all(lane) == batches
    assert [(batch.identity, batch.sequence) for batch in batches] == [(FIRST, 0), (FIRST, 10), (FIRST, 20)]


def test_the_first_batch_goes_alone_until_the_leader_knows_the_producer():
    lane, (first, second, third) = lane_with(3)
    lane.known_producer_id = -1
    assert depart_all(lane) == [first]
    lane.arrived(first)
    assert depart_all(lane) == [second, third]
    stranger, (first, second) = lane_with(2)
    assert depart_all(stranger, Identity(8, 0)) == [first]


def test_the_halves_of_a_batch_have_its_sequences():
    lane, (first, second) = lane_with(2)
    depart_all(lane)
    lane.refused(first)
    halves = first.split()
    for half in halves:
        half.attempts = 1
        lane.put_back(half)
    lane.is_recovering = True
    lane.arrived(second)
    lane.is_recovering = True
    assert depart_all(lane) == [halves[0]]
    lane.arrived(halves[0])
    lane.is_recovering = False
    assert depart_all(lane) == [halves[1]]
    assert [(half.identity, half.sequence) for half in halves] == [(FIRST, 0), (FIRST, 5)]


def test_the_next_epoch_waits_for_what_was_given_up_but_not_answered():
    lane, (first, second) = lane_with(2)
    lane.waiting.remove(second)
    depart_all(lane)
    first.finish(-1, -1, None)
    lane.begin_anew()
    lane.waiting.append(second)
    assert lane.next_batch(0.0) is None
    lane.refused(first)
    assert depart_all(lane, SECOND) == [second]
    assert (second.identity, second.sequence) == (SECOND, 0)


def test_without_idempotence_the_first_batch_does_not_go_alone():
    lane, batches = lane_with(2)
    lane.known_producer_id = -1
    assert depart_all(lane, None) == batches


def test_a_leader_that_may_have_forgotten_the_producer_gets_one_batch_first():
    lane, (first, second, third) = lane_with(3)
    assert depart_all(lane) == [first, second, third]
    for batch in (first, second, third):
        lane.come_back(batch, 0.0)
    lane.begin_anew()
    assert depart_all(lane, SECOND) == [first]
    lane.is_recovering = False
    assert depart_all(lane, SECOND) == []


def test_sequences_wrap_where_kafka_wraps_them():
    lane, batches = lane_with(2)
    lane.identity, lane.next_sequence = FIRST, SEQUENCES - 5
    depart_all(lane)
    assert [batch.sequence for batch in batches] == [SEQUENCES - 5, 5]


def test_after_an_error_one_at_a_time_until_all_are_through():
    lane, (first, second, third) = lane_with(3)
    depart_all(lane)
    for batch in (second, first, third):
        lane.come_back(batch, 0.0)
    assert list(lane.waiting) == [first, second, third]
    for batch in (first, second, third):
        assert depart_all(lane) == [batch]
        assert batch.sequence == 10 * batch.serial[0]
        lane.arrived(batch)
    assert not lane.is_recovering


def test_a_retry_is_not_overtaken_by_what_came_after_it():
    lane, (first, second) = lane_with(2)
    lane.depart(FIRST)
    lane.come_back(first, 5.0)
    assert lane.next_batch(4.9) is None
    assert lane.next_batch(5.0) is first
    lane.depart(FIRST)
    assert lane.next_batch(5.0) is None
    lane.arrived(first)
    assert lane.next_batch(5.0) is second


def test_a_new_identity_waits_until_nothing_is_in_flight():
    lane, (first, second, third) = lane_with(3)
    lane.depart(FIRST)
    lane.depart(SECOND)
    assert second.identity == FIRST
    lane.arrived(first)
    lane.arrived(second)
    lane.depart(SECOND)
    assert (third.identity, third.sequence) == (SECOND, 0)


def test_to_begin_anew_numbers_all_that_waits_again():
    lane, (first, second, third) = lane_with(3)
    depart_all(lane)
    lane.arrived(first)
    assert lane.is_oldest(second)
    lane.begin_anew()
    lane.come_back(second, 0.0)
    assert lane.next_batch(0.0) is None, "the third one is still on its way under the old numbers"
    assert not lane.is_oldest(third)
    lane.come_back(third, 0.0)
    assert depart_all(lane, SECOND) == [second]
    lane.arrived(second)
    assert depart_all(lane, SECOND) == [third]
    assert [(batch.identity, batch.sequence) for batch in (second, third)] == [(SECOND, 0), (SECOND, 10)]


def test_what_was_given_up_while_it_waited_is_not_sent():
    lane, (first, second) = lane_with(2)
    first.finish(-1, -1, None)
    assert lane.next_batch(0.0) is second


@given(st.data())
def test_whatever_fails_what_arrives_is_in_order(data):
    """A broker that takes a batch only when its number is next, and answers, or loses, in any order."""
    lane, batches = lane_with(8)
    in_flight, stored, next_sequence = deque(), [], 0
    for _ in range(500):
        if not lane.waiting and not in_flight:
            break
        while len(in_flight) < 5 and lane.next_batch(0.0) is not None:
            in_flight.append(lane.depart(FIRST))
        batch = in_flight.popleft()
        fate = (
            data.draw(st.sampled_from(["answered", "lost", "response lost"]))
            if len(stored) < 8
            else "answered"
        )
        if fate != "lost" and batch.sequence == next_sequence:
            stored.append(batch)
            next_sequence += batch.records_count
        if fate == "answered" and batch in stored:
            lane.arrived(batch)
        else:
            lane.come_back(batch, 0.0)
            while in_flight and fate != "answered":  # the connection is gone
                lane.come_back(in_flight.pop(), 0.0)
    assert stored == batches
