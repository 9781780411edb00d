"""Fetches and look-ups with any numbers in them are answered row by row, with codes that fit."""

import random

import pytest
from tests.broker.stage import NOW_MS, answer_of, batch_of, id_of, over_the_wire, send

from distributedlog.broker.handlers import k01_fetch, k02_list_offsets, k23_offset_for_leader_epoch
from distributedlog.broker.pending import Pending
from distributedlog.wire import ErrorCode
from distributedlog.wire.k01_fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from distributedlog.wire.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from distributedlog.wire.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

INT32 = (-(2**31), -2, -1, 0, 1, 2, 100, 1000, 2**31 - 1)
INT64 = (-(2**63), -7, -6, -5, -4, -3, -2, -1, 0, 1, 5, 9, 10, 11, NOW_MS, 2**63 - 1)
FETCH_CODES = {
    0,
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
}
SESSION_CODES = {
    0,
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
}
LOOK_UP_CODES = {
    0,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REQUEST,
}


@pytest.fixture
def filled(stage):
    stage.add(partitions=2, leader_epoch=1)
    for partition in stage.partitions:
        for number in range(10):
            partition.append(batch_of(b"%d" % number, timestamp=NOW_MS + number), now_ms=NOW_MS)
    return stage


def ask(stage, handler, key, version, request):
    response = send(stage, handler, key, version, request)
    if isinstance(response, Pending):
        stage.scheduler.advance(2**31)
        response = answer_of(response)
    return over_the_wire(key, version, response)


def some_fetch(chance, version, session_ids):
    topics = [
        FetchTopic(
            name if version < 13 else "",
            id_of(name),
            [
                FetchPartition(
                    chance.choice((-1, 0, 1, 2, 2**31 - 1)),
                    chance.choice((-1, -1, -1, 0, 1, 2)),
                    chance.choice(INT64),
                    chance.choice((-1, -1, -1, 0, 1, 5)) if version >= 12 else -1,
                    partition_max_bytes=chance.choice(INT32),
                )
                for _ in range(chance.randrange(4))
            ],
        )
        for name in chance.sample(["orders", "nothing"], chance.randrange(3))
    ]
    request = FetchRequest(
        max_wait_ms=chance.choice(INT32),
        min_bytes=chance.choice(INT32),
        max_bytes=chance.choice(INT32),
        isolation_level=chance.choice((-1, 0, 1, 2)),
        topics=topics,
    )
    if version >= 7:
        request.session_id, request.session_epoch = chance.choice(session_ids)
        request.forgotten_topics_data = [
            ForgottenTopic(topic.topic, topic.topic_id, [0, 7]) for topic in topics if chance.random() < 0.2
        ]
    return request


@pytest.mark.fuzz
def test_fetches(filled, fuzz_cases):
    chance = random.Random(3)
    sessions = [(0, -1), (0, 0), (5, 3)]
    found = 0
    for _ in range(fuzz_cases(4000)):
        version = chance.randrange(4, 19)
        response = ask(filled, k01_fetch, 1, version, some_fetch(chance, version, sessions))
        assert response.error_code in SESSION_CODES
        if response.session_id:
            session = filled.fetch_sessions.get(response.session_id)
            epoch = 1 if session is None else session.epoch
            sessions = [*sessions[-6:], (0, -1), (0, 0), (response.session_id, epoch)]
        rows = [row for topic in response.responses for row in topic.partitions]
        assert {row.error_code for row in rows} <= FETCH_CODES
        found += sum(len(row.records) for row in rows)
    assert found
    assert len(filled.waiting_fetches) == 0


@pytest.mark.fuzz
def test_look_ups(filled, fuzz_cases):
    chance = random.Random(4)
    for _ in range(fuzz_cases(3000)):
        version = chance.randrange(1, 12)
        wanted = [
            ListOffsetsPartition(
                chance.choice((-1, 0, 1, 2)), chance.choice((-1, -1, 0, 1, 2)), chance.choice(INT64)
            )
            for _ in range(chance.randrange(3))
        ]
        isolation = chance.choice((-1, 0, 1)) if version >= 2 else 0
        request = ListOffsetsRequest(
            chance.choice((-2, -1, 1)), isolation, [ListOffsetsTopic("orders", wanted)]
        )
        response = ask(filled, k02_list_offsets, 2, version, request)
        rows = response.topics[0].partitions
        assert {row.error_code for row in rows} <= LOOK_UP_CODES
        assert all(-1 <= row.offset <= 10 for row in rows)


@pytest.mark.parametrize("epoch", INT32)
@pytest.mark.parametrize("current", INT32)
def test_epochs(filled, epoch, current):
    wanted = [OffsetForLeaderPartition(0, current, epoch)]
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("orders", wanted)])
    (row,) = ask(filled, k23_offset_for_leader_epoch, 23, 4, request).topics[0].partitions
    assert row.error_code in LOOK_UP_CODES
