"""The request quota, on the way of every request."""

import pytest
from tests.broker.requests import ALTER_CLIENT_QUOTAS, API_VERSIONS, CREATE_TOPICS, create

from distributedlog.broker import throttling
from distributedlog.wire.k18_api_versions import ApiVersionsRequest
from distributedlog.wire.k19_create_topics import CreateTopicsRequest
from distributedlog.wire.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlteredQuotaEntity,
    QuotaAlteration,
    QuotaOperation,
)


@pytest.fixture
def busy(served, monkeypatch):
    """A broker that takes half a second for a request, and whose client "test" may keep it busy 10 % of the
    time."""
    operation = QuotaOperation("request_percentage", 10.0)
    entry = QuotaAlteration([AlteredQuotaEntity("client-id", "test")], [operation])
    [result] = served.ask(ALTER_CLIENT_QUOTAS, AlterClientQuotasRequest([entry])).entries
    assert result.error_code == 0
    clock = iter(range(10_000))
    monkeypatch.setattr(throttling, "perf_counter", lambda: next(clock) / 2)
    return served


def throttle_of(stage, client_id="test"):
    request = ApiVersionsRequest("tests", "1")
    return stage.send(API_VERSIONS, request, client_id=client_id).responses[0].throttle_time_ms


def test_who_keeps_the_broker_too_busy_is_held_back(busy):
    times = [throttle_of(busy) for _ in range(4)]
    assert times[0] == 0
    assert times[-1] == 1000, "one window of the quota at most"
    assert throttle_of(busy, "another") == 0


def test_silence_makes_it_good(busy):
    for _ in range(4):
        throttle_of(busy)
    busy.scheduler.advance(60_000)
    assert throttle_of(busy) == 0


def test_an_answer_that_comes_later_is_held_back_too(busy):
    for _ in range(4):
        throttle_of(busy)
    waiting = busy.send(CREATE_TOPICS, CreateTopicsRequest())
    busy.scheduler.run()
    assert waiting.responses[0].throttle_time_ms == 1000


def test_without_quotas_nobody_is_held_back(served, monkeypatch):
    monkeypatch.setattr(throttling, "perf_counter", lambda: pytest.fail("no quota, no clock"))
    assert throttle_of(served) == 0
    assert create(served, "a")[0].error_code == 0
