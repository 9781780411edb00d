import random

import pytest

from distributedlog.broker.fetch_plan import FetchTarget
from distributedlog.broker.fetch_sessions import EVICTION_MS, FetchSessions, next_epoch
from distributedlog.wire.k01_fetch import FetchPartition, FetchRequest, FetchTopic


def targets(count):
    return {("t", index): FetchTarget("t", None, index, 0, 100) for index in range(count)}


def create(sessions, size, now_ms, *, privileged=False):
    session = sessions.create(targets(size), uses_topic_ids=False, is_privileged=privileged, now_ms=now_ms)
    return None if session is None else session.session_id


def use(sessions, session_id, now_ms):
    """One incremental request."""
    request = FetchRequest(session_id=session_id, session_epoch=sessions.get(session_id).epoch)
    sessions.begin(request, 12, now_ms)


@pytest.mark.parametrize(("epoch", "following"), [(0, 1), (1, 2), (2**31 - 1, 1), (-1, -1)])
def test_epochs(epoch, following):
    assert next_epoch(epoch) == following


def test_ids_are_positive_and_not_given_twice():
    class Repeating(random.Random):
        def randint(self, first, last):
            assert (first, last) == (1, 2**31 - 1)
            return super().randint(1, 3)

    sessions = FetchSessions(10, Repeating(1))
    assert sorted(create(sessions, 1, 0) for _ in range(3)) == [1, 2, 3]


@pytest.fixture
def sessions():
    return FetchSessions(2, random.Random(1))


def test_there_are_no_more_than_there_are_slots(sessions):
    assert create(sessions, 1, 0)
    assert create(sessions, 1, 0)
    assert create(sessions, 9, EVICTION_MS) is None
    assert len(sessions) == 2


def test_no_slots_no_sessions():
    sessions = FetchSessions(0, random.Random(1))
    assert create(sessions, 1, 0) is None


def test_a_session_of_nothing_is_not_worth_a_slot(sessions):
    assert create(sessions, 0, 0) is None


def test_the_one_used_longest_ago_gives_way(sessions):
    first, second = create(sessions, 9, 0), create(sessions, 9, 0)
    use(sessions, first, EVICTION_MS)
    third = create(sessions, 1, EVICTION_MS + 1)
    assert third
    assert sessions.get(second) is None
    assert sessions.get(first) is not None


def test_a_smaller_one_that_had_its_time_gives_way(sessions):
    small, large = create(sessions, 2, 0), create(sessions, 5, 0)
    now_ms = EVICTION_MS + 1
    use(sessions, small, now_ms)
    use(sessions, large, now_ms)
    assert create(sessions, 1, now_ms) is None
    assert create(sessions, 3, now_ms)
    assert sessions.get(small) is None
    assert sessions.get(large) is not None


def test_followers_go_before_consumers(sessions):
    consumer, follower = create(sessions, 50, 0), create(sessions, 2, 0, privileged=True)
    new = create(sessions, 1, 1, privileged=True)
    assert new
    assert sessions.get(consumer) is None
    assert sessions.get(follower) is not None


def test_consumers_never_take_a_followers_place_while_it_is_used(sessions):
    followers = [create(sessions, 1, 0, privileged=True) for _ in range(2)]
    for follower in followers:
        use(sessions, follower, EVICTION_MS + 1)
    assert create(sessions, 1000, EVICTION_MS + 1) is None


def test_a_partition_named_twice_counts_once_and_the_last_time(sessions):
    wanted = [FetchPartition(0, fetch_offset=offset, partition_max_bytes=10) for offset in (5, 7)]
    context = sessions.begin(FetchRequest(topics=[FetchTopic("t", partitions=wanted)]), 12, 0)
    assert [target.fetch_offset for target in context.targets] == [7]


def test_an_update_keeps_what_the_client_was_told(sessions):
    session = sessions.get(create(sessions, 2, 0))
    session.targets["t", 0].sent_high_watermark = 17
    session.update({("t", 0): FetchTarget("t", None, 0, 9, 50, 3, 2, 1)}, [("t", 1), ("t", 5)])
    (target,) = session.targets.values()
    assert (target.fetch_offset, target.max_bytes, target.sent_high_watermark) == (9, 50, 17)
    assert (target.current_leader_epoch, target.last_fetched_epoch, target.log_start_offset) == (3, 2, 1)


def test_being_throttled_tells_the_session_and_nothing_else(sessions):
    session_id = create(sessions, 1, 0)
    request = FetchRequest(session_id=session_id, session_epoch=1)
    response = sessions.begin(request, 12, 0).respond_throttled(25)
    assert (response.throttle_time_ms, response.session_id, response.responses) == (25, session_id, [])
    full = sessions.begin(FetchRequest(session_epoch=0), 12, 0)
    assert full.respond_throttled(25).session_id == 0
