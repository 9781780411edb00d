"""[pure] A pipeline's status as Prometheus reads it."""

from typing import Final

from distributedlog.pipelines.progress import FAILED, FINISHED, RUNNING, STARTING, STOPPED, Status

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_STATES: Final = (STARTING, RUNNING, FINISHED, STOPPED, FAILED)


def prometheus_page(name: str, status: Status) -> str:
    """All of one pipeline's figures, labelled with its name."""
    label = f'pipeline="{name}"'
    samples: list[tuple[str, str, str, float | None]] = [
        ("rows_total", "counter", "Records read since the process began.", status.rows),
        ("late_rows_total", "counter", "Events that came behind the watermark.", status.late),
        ("rows_per_second", "gauge", "Records read per second in the last batch.", status.rows_per_second),
        ("lag_records", "gauge", "Records that are there and not yet read.", status.lag),
        ("state_rows", "gauge", "Rows in the state store.", status.state_rows),
        ("state_bytes", "gauge", "Memory of the state store.", status.state_bytes),
        ("batch_duration_seconds", "gauge", "How long the last batch took.", status.batch_ms / 1000),
        ("batch_id", "gauge", "The number of the last batch.", status.batch),
    ]
    lines = []
    for metric, kind, help_text, value in samples:
        if value is not None:
            full = f"dlog_pipeline_{metric}"
            lines += [f"# HELP {full} {help_text}", f"# TYPE {full} {kind}", f"{full}{{{label}}} {value!r}"]
    lines += ["# HELP dlog_pipeline_state 1 for the state it is in.", "# TYPE dlog_pipeline_state gauge"]
    lines += [
        f'dlog_pipeline_state{{{label},state="{state}"}} {int(state == status.state)}' for state in _STATES
    ]
    return "\n".join(lines) + "\n"
