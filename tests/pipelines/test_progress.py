"""From Spark's progress to a status, to Prometheus and back from a file."""

from distributedlog.pipelines.durations import duration_ms, shown_duration
from distributedlog.pipelines.metrics import prometheus_page
from distributedlog.pipelines.progress import Status, after_batch, lag_of, status_of

PROGRESS = {
    "batchId": 4,
    "numInputRows": 120,
    "processedRowsPerSecond": 240.0,
    "timestamp": "2026-01-01T00:00:05.000Z",
    "durationMs": {"triggerExecution": 500, "addBatch": 400},
    "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"},
    "stateOperators": [
        {"numRowsTotal": 7, "memoryUsedBytes": 1000, "numRowsDroppedByWatermark": 2},
        {"numRowsTotal": 3, "memoryUsedBytes": 500, "numRowsDroppedByWatermark": 1},
    ],
    "sources": [
        {
            "endOffset": {"version": 1, "topics": {"clicks": {"id": "x", "offsets": {"0": 90, "1": 40}}}},
            "latestOffset": '{"version": 1, "topics": {"clicks": {"id": "x", "begins": {"2": 1}, '
            '"offsets": {"0": 100, "1": 40, "2": 5}}}}',
        },
        {"endOffset": {"logOffset": 3}, "latestOffset": None},
    ],
}


def test_a_batch_is_added():
    status = after_batch(Status(rows=10, late=1, batch=3), PROGRESS)
    assert (status.state, status.batch, status.rows, status.late) == ("running", 4, 130, 4)
    assert (status.state_rows, status.state_bytes, status.batch_ms) == (10, 1500, 500)
    assert status.watermark == "2026-01-01T00:00:00.000Z"
    assert status.lag == 15


def test_a_progress_is_counted_once_and_never_backwards():
    once = after_batch(Status(), PROGRESS)
    assert after_batch(once, PROGRESS) == once
    assert after_batch(once, {**PROGRESS, "timestamp": "2026-01-01T00:00:04.000Z"}) == once


def test_an_idle_trigger_bears_the_next_batchs_number_and_takes_nothing_from_it():
    idle = {
        **PROGRESS,
        "batchId": 5,
        "timestamp": "2026-01-01T00:00:15.000Z",
        "durationMs": {"triggerExecution": 2},
    }
    then = {**PROGRESS, "batchId": 5, "timestamp": "2026-01-01T00:00:16.000Z"}
    between = after_batch(after_batch(Status(), PROGRESS), idle)
    assert (between.batch, between.rows, between.late, between.batch_ms) == (4, 120, 3, 500)
    status = after_batch(between, then)
    assert (status.batch, status.rows, status.late) == (5, 240, 6)


def test_sources_without_offsets_have_no_lag():
    assert lag_of({"sources": [{"endOffset": "not json", "latestOffset": "null"}]}) is None
    assert lag_of({"sources": [{"endOffset": {"t": {"0": 9}}, "latestOffset": {"t": {"0": 7}}}]}) == 0


def test_a_status_survives_its_file_also_of_another_version():
    status = after_batch(Status(), PROGRESS)
    assert status_of({**status.as_json(), "unheard_of": 1}) == status


def test_prometheus():
    page = prometheus_page("page-counts", after_batch(Status(), PROGRESS))
    assert 'dlog_pipeline_rows_total{pipeline="page-counts"} 120\n' in page
    assert 'dlog_pipeline_lag_records{pipeline="page-counts"} 15\n' in page
    assert 'dlog_pipeline_state{pipeline="page-counts",state="running"} 1\n' in page
    assert "lag_records" not in prometheus_page("x", Status())


def test_durations():
    texts = ("500ms", "10 seconds", "1.5m", "2h", "7 days")
    assert [duration_ms(text) for text in texts] == [500, 10_000, 90_000, 7_200_000, 604_800_000]
    assert [shown_duration(number) for number in (850, 12_300, 240_000)] == ["850 ms", "12.3 s", "4.0 min"]
