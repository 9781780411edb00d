"""A keyed function with state and timers of the user's own, on Spark's transformWithState.

Every record passes through Python: a built-in aggregate does the same work several times as fast, so this
is for what no aggregate can say.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
    ValueState,
)

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.event_time import need_columns, with_watermark
from distributedlog.pipelines.handler import Handler
from distributedlog.pipelines.schemas import struct_of

TIME_MODES: Final = {"event": "EventTime", "processing": "ProcessingTime", "none": "None"}


def process(
    frame: DataFrame,
    *,
    handler: "type[Handler] | Handler",
    by: Sequence[str],
    timers: str = "event",
    time: str = "timestamp",
    watermark: str = "10 seconds",
) -> DataFrame:
    """What the handler yields. `timers` says by which clock they fire: event, processing or none."""
    made = handler() if isinstance(handler, type) else handler
    if not isinstance(made, Handler) or not getattr(made, "output", ""):
        raise PipelineError(
            f"process: {handler!r} is no handler; derive it from distributedlog.pipelines.Handler and say "
            "in `output` which columns it yields"
        )
    need_columns(frame, [*by], "by")
    if timers == "event":
        frame = with_watermark(frame, time, watermark)
    return frame.groupBy(*by).transformWithState(
        _Processor(made, timers),
        struct_of(made.output, "output of the handler"),
        "append",
        TIME_MODES[timers],
    )


class _State:
    """The named values, as dictionaries."""

    def __init__(self, values: Mapping[str, ValueState], fields: Mapping[str, list[str]]) -> None:
        self._values = values
        self._fields = fields

    def get(self, name: str) -> dict[str, Any] | None:
        stored = self._known(name).get()
        return None if stored is None else dict(zip(self._fields[name], stored, strict=True))

    def put(self, name: str, **fields: Any) -> None:
        known = self._known(name)
        unknown = set(fields) - set(self._fields[name])
        if unknown:
            raise KeyError(f"state {name!r} has the fields {self._fields[name]}, and not {sorted(unknown)}")
        known.update(tuple(fields.get(field) for field in self._fields[name]))

    def delete(self, name: str) -> None:
        self._known(name).clear()

    def _known(self, name: str) -> ValueState:
        if name not in self._values:
            raise KeyError(f"there is no state {name!r}; the handler's `state` names {sorted(self._values)}")
        return self._values[name]


class _Timers:
    """Timers of the key that is being handled."""

    def __init__(self, handle: StatefulProcessorHandle, now_ms: int) -> None:
        self._handle = handle
        self._now_ms = now_ms

    @property
    def now_ms(self) -> int:
        return self._now_ms

    def set(self, time_ms: int) -> None:
        self._handle.registerTimer(time_ms)

    def cancel(self, time_ms: int) -> None:
        self._handle.deleteTimer(time_ms)

    def pending(self) -> list[int]:
        return sorted(self._handle.listTimers())


class _Processor(StatefulProcessor):
    """Spark's interface in front, the user's behind. Made in the driver: only there is Java to read SQL."""

    def __init__(self, handler: Handler, timers: str) -> None:
        self._handler = handler
        self._uses_watermark = timers == "event"
        self._names = struct_of(handler.output, "output of the handler").fieldNames()
        self._schemas = {
            name: struct_of(sql, f"state {name!r} of the handler") for name, sql in handler.state.items()
        }

    def init(self, handle: StatefulProcessorHandle) -> None:
        values = {name: handle.getValueState(name, schema) for name, schema in self._schemas.items()}
        self._handle = handle
        self._state = _State(values, {name: schema.fieldNames() for name, schema in self._schemas.items()})

    def handleInputRows(  # noqa: N802 (Spark's name)
        self,
        key: Any,
        rows: Any,
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        records = (row.asDict() for row in rows)
        results = self._handler.on_records(tuple(key), records, self._state, self._timers(timerValues))
        yield from self._rows(results)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        time_ms = expiredTimerInfo.getExpiryTimeInMs()
        results = self._handler.on_timer(tuple(key), time_ms, self._state, self._timers(timerValues))
        yield from self._rows(results)

    def close(self) -> None:
        """Nothing is held open."""

    def _timers(self, values: TimerValues) -> _Timers:
        watermark = values.getCurrentWatermarkInMs()
        now = watermark if self._uses_watermark else values.getCurrentProcessingTimeInMs()
        return _Timers(self._handle, now)

    def _rows(self, results: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
        for result in results or ():
            unknown = set(result) - set(self._names)
            if unknown:
                raise KeyError(f"the handler's `output` names {self._names}, and not {sorted(unknown)}")
            yield Row(**{name: result.get(name) for name in self._names})
