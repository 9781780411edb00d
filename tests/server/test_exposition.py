"""Prometheus' text, and log lines."""

import io
import json
import logging

from distributedlog.server import console
from distributedlog.server.exposition import Page
from distributedlog.server.request_metrics import Latency


def test_a_page_of_metrics():
    latency = Latency()
    for ms in (0.05, 0.1, 3, 99_999):
        latency.observe(int(ms * 1e6))
    page = Page()
    page.counter("a_total", "As.", [({}, 3)])
    page.gauge("b", "Bs.", [({"topic": 'quote " slash \\ line \n', "partition": 0}, 1.5), ({"x": 1}, 0)])
    page.histogram("c_seconds", "Cs.", [({"api": "fetch"}, latency)])
    lines = page.text().splitlines()
    assert lines[:6] == [
        "# HELP a_total As.",
        "# TYPE a_total counter",
        "a_total 3",
        "# HELP b Bs.",
        "# TYPE b gauge",
        'b{topic="quote \\" slash \\\\ line \\n",partition="0"} 1.5',
    ]
    buckets = dict(line.rsplit(" ", 1) for line in lines if line.startswith("c_seconds"))
    assert buckets['c_seconds_bucket{api="fetch",le="0.0001"}'] == "2"
    assert buckets['c_seconds_bucket{api="fetch",le="0.0025"}'] == "2"
    assert buckets['c_seconds_bucket{api="fetch",le="0.005"}'] == "3"
    assert buckets['c_seconds_bucket{api="fetch",le="10.0"}'] == "3"
    assert buckets['c_seconds_bucket{api="fetch",le="+Inf"}'] == "4"
    assert buckets['c_seconds_count{api="fetch"}'] == "4"
    assert float(buckets['c_seconds_sum{api="fetch"}']) == 100.00215


def logged(form, level="info"):
    stream = io.StringIO()
    handler = console.set_up(form, level, stream)
    logger = logging.getLogger("distributedlog.test")
    try:
        logger.debug("too small")
        logger.warning("closed %s", "x")
        try:
            raise ZeroDivisionError("why")
        except ZeroDivisionError:
            logger.exception("a bug")
    finally:
        for name in (console.ROOT, "asyncio"):
            logging.getLogger(name).removeHandler(handler)
            logging.getLogger(name).propagate = True
            logging.getLogger(name).setLevel(logging.NOTSET)
    return stream.getvalue()


def test_lines_for_people():
    first, second, *rest = logged("human").splitlines()
    assert first.endswith(" warning closed x")
    assert second.endswith(" error   a bug")
    assert rest[-1] == "ZeroDivisionError: why"


def test_lines_for_machines():
    for form in ("json", "auto"):  # no terminal
        first, second = map(json.loads, logged(form).splitlines())
        assert (first["level"], first["logger"], first["message"]) == (
            "warning",
            "distributedlog.test",
            "closed x",
        )
        assert first["time"].endswith("Z")
        assert "exception" not in first
        assert second["exception"].endswith("ZeroDivisionError: why")
