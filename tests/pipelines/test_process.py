"""A keyed function with state and timers, on static and on streaming frames."""

import pytest

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.handler import Handler
from distributedlog.pipelines.process import process

SCHEMA = "user STRING, at TIMESTAMP"


class Sessions(Handler):
    """Counts clicks until ten seconds without one have passed."""

    output = "user STRING, clicks INT, ended LONG"
    state = {"open": "clicks INT, ends LONG"}  # noqa: RUF012

    def on_records(self, key, records, state, timers):
        del key
        session = state.get("open") or {"clicks": 0, "ends": 0}
        times = [round(record["at"].timestamp() * 1000) for record in records]
        ends = max(session["ends"], max(times) + 10_000)
        if session["ends"] and ends != session["ends"]:
            timers.cancel(session["ends"])
        timers.set(ends)
        assert timers.pending() == [ends]
        state.put("open", clicks=session["clicks"] + len(times), ends=ends)
        return ()

    def on_timer(self, key, time_ms, state, timers):
        assert timers.now_ms >= time_ms
        yield {"user": key[0], "clicks": state.get("open")["clicks"], "ended": time_ms}
        state.delete("open")


class Echo(Handler):
    output = "user STRING, seen INT"

    def on_records(self, key, records, state, timers):
        yield {"user": key[0], "seen": sum(1 for _ in records)}


def seconds(at, second):
    return round(at(second).timestamp() * 1000)


def test_a_stream_fires_timers_with_the_watermark(stream, results, at):
    clicks = stream(
        SCHEMA,
        [("ann", at(0)), ("bob", at(1))],
        [("ann", at(5))],
        [("eve", at(100))],
        [("eve", at(101))],
    )
    ended = process(clicks, handler=Sessions, by=["user"], time="at", watermark="1s")
    rows = sorted(row for batch in results(ended) for row in batch)
    assert rows == [("ann", 2, seconds(at, 15)), ("bob", 1, seconds(at, 11))]


def test_a_static_frame(spark, at):
    frame = spark.createDataFrame([("ann", at(0)), ("ann", at(1)), ("bob", at(2))], SCHEMA)
    seen = process(frame, handler=Echo(), by=["user"], timers="none")
    assert sorted(tuple(row) for row in seen.collect()) == [("ann", 2), ("bob", 1)]


def test_what_is_no_handler_is_said(spark, at):
    frame = spark.createDataFrame([("ann", at(0))], SCHEMA)
    with pytest.raises(
        PipelineError, match=r"is no handler; derive it from distributedlog\.pipelines\.Handler"
    ):
        process(frame, handler=dict, by=["user"])
