"""[pure] From Spark's progress of a query to the few figures by which one sees how it is doing."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

STARTING: Final = "starting"
RUNNING: Final = "running"
FINISHED: Final = "finished"
STOPPED: Final = "stopped"
FAILED: Final = "failed"
#: In our own source's offsets: where partitions start, not where the query is.
_BEGINS: Final = "begins"


@dataclass(frozen=True, slots=True)
class Status:
    """What `dlog pipeline status` shows. Counts are since the process began."""

    state: str = STARTING
    batch: int | None = None
    rows: int = 0
    rows_per_second: float = 0.0
    #: Offsets between where the query is and where the topics end; None where the source does not say.
    lag: int | None = None
    watermark: str | None = None
    state_rows: int = 0
    state_bytes: int = 0
    #: Events that came after the watermark had passed them.
    late: int = 0
    batch_ms: int = 0
    updated: str | None = None
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def status_of(content: Mapping[str, Any]) -> Status:
    """The reverse of `as_json`, of whatever version wrote it."""
    names = {field.name for field in fields(Status)}
    return Status(**{name: value for name, value in content.items() if name in names})


def after_batch(before: Status, progress: Mapping[str, Any]) -> Status:
    """The status behind one more trigger; a progress that was counted already changes nothing.

    Its moment tells progresses apart: an idle trigger bears the number of the batch that is to come, and
    repeats the figures of the one before.
    """
    moment = progress.get("timestamp")
    if before.updated is not None and moment is not None and moment <= before.updated:
        return before
    durations = progress.get("durationMs") or {}
    operators = progress.get("stateOperators") or []
    has_run = "addBatch" in durations
    late = sum(int(operator.get("numRowsDroppedByWatermark") or 0) for operator in operators)
    return replace(
        before,
        state=RUNNING,
        batch=progress.get("batchId") if has_run else before.batch,
        rows=before.rows + (int(progress.get("numInputRows") or 0) if has_run else 0),
        rows_per_second=float(progress.get("processedRowsPerSecond") or 0.0),
        lag=lag_of(progress),
        watermark=(progress.get("eventTime") or {}).get("watermark") or before.watermark,
        state_rows=sum(int(operator.get("numRowsTotal") or 0) for operator in operators),
        state_bytes=sum(int(operator.get("memoryUsedBytes") or 0) for operator in operators),
        late=before.late + (late if has_run else 0),
        batch_ms=int(durations.get("triggerExecution") or 0) if has_run else before.batch_ms,
        updated=moment,
    )


def lag_of(progress: Mapping[str, Any]) -> int | None:
    """Latest minus end offsets, over all partitions of all sources that say both."""
    lag = None
    for source in progress.get("sources") or []:
        end = dict(_offsets(source.get("endOffset")))
        latest = dict(_offsets(source.get("latestOffset")))
        for partition, offset in latest.items():
            lag = (lag or 0) + max(0, offset - end.get(partition, 0))
    return lag


def _offsets(content: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """``{"topic": {"0": 17}}``, wherever in the offset's JSON it stands, by the whole way to it."""
    if isinstance(content, str) and not path:
        import json  # noqa: PLC0415

        try:
            content = json.loads(content)
        except ValueError:
            return
    if not isinstance(content, Mapping):
        return
    for name, value in content.items():
        if name == _BEGINS:
            continue
        if _is_partition(name, value):
            yield (*path, str(name)), value
        elif isinstance(value, Mapping):
            yield from _offsets(value, (*path, str(name)))


def _is_partition(name: Any, offset: Any) -> bool:
    return str(name).isdigit() and isinstance(offset, int) and not isinstance(offset, bool)
