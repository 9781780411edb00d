"""Incremental fetches: a request names what is new, and only that."""

import pytest

from distributedlog.client.consumer.fetch_session import FetchSession, SessionLost
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire import ErrorCode
from distributedlog.wire.k01_fetch import FetchRequest, FetchResponse

IDS = {"t": b"t" * 16, "u": b"u" * 16}


def asked(session, wanted, ids=IDS):
    """(session id, epoch, what is named with its offset, what is forgotten)."""
    request = FetchRequest()
    places = {TopicPartition(*place): (offset, 0) for place, offset in wanted.items()}
    session.fill(request, places, ids)
    named = {
        (topic.topic, each.partition): each.fetch_offset
        for topic in request.topics
        for each in topic.partitions
    }
    gone = {(topic.topic, index) for topic in request.forgotten_topics_data for index in topic.partitions}
    return request.session_id, request.session_epoch, named, gone


def test_a_session_names_everything_once_and_then_what_has_moved():
    session = FetchSession(100)
    wanted = {("t", 0): 5, ("t", 1): 6, ("u", 0): 7}
    assert asked(session, wanted) == (0, 0, wanted, set())
    session.answered(FetchResponse(session_id=77))
    assert asked(session, wanted) == (77, 1, {}, set())
    session.answered(FetchResponse(session_id=77))
    moved = {("t", 0): 9, ("u", 0): 7}
    assert asked(session, moved) == (77, 2, {("t", 0): 9}, {("t", 1)})
    session.answered(FetchResponse(session_id=77))
    assert asked(session, wanted) == (77, 3, {("t", 0): 5, ("t", 1): 6}, set())


def test_a_topic_made_anew_is_another_topic():
    session = FetchSession(100)
    asked(session, {("t", 0): 5})
    session.answered(FetchResponse(session_id=77))
    _, _, named, gone = asked(session, {("t", 0): 5}, {"t": b"x" * 16})
    assert (named, gone) == ({("t", 0): 5}, {("t", 0)})


@pytest.mark.parametrize(
    "code", [ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH]
)
def test_a_session_that_the_broker_forgot_begins_anew(code):
    session = FetchSession(100)
    asked(session, {("t", 0): 5})
    session.answered(FetchResponse(session_id=77))
    asked(session, {("t", 0): 5})
    with pytest.raises(SessionLost):
        session.answered(FetchResponse(error_code=code))
    assert asked(session, {("t", 0): 5}) == (0, 0, {("t", 0): 5}, set())


def test_a_broker_without_sessions_hears_everything_each_time():
    session = FetchSession(100)
    for _ in range(3):
        assert asked(session, {("t", 0): 5}) == (0, 0, {("t", 0): 5}, set())
        session.answered(FetchResponse(session_id=0))


def test_the_epoch_begins_again_behind_the_largest():
    session = FetchSession(100)
    asked(session, {})
    session.answered(FetchResponse(session_id=77))
    session._epoch = 2**31 - 1
    session.answered(FetchResponse(session_id=77))
    assert asked(session, {})[1] == 1
