"""Event time and how late an event may be, for all steps that have state."""

from typing import TYPE_CHECKING, Final

from distributedlog.pipelines.durations import spark_interval
from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.spec_keys import nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WATERMARK: Final = "spark.watermarkDelayMs"


def with_watermark(frame: "DataFrame", time: str, delay: str) -> "DataFrame":
    """The frame with a watermark on its event time, unless an earlier step has put one there.

    Spark allows one to a column. In a chain of steps the first one decides, which is what it is for: what
    it has let through is in time for all that follow.
    """
    need_columns(frame, [time], "the event's time")
    if not frame.isStreaming or _WATERMARK in (frame.schema[time].metadata or {}):
        return frame
    return frame.withWatermark(time, spark_interval(delay))


def need_columns(frame: "DataFrame", names: "list[str] | tuple[str, ...]", purpose: str) -> None:
    """PipelineError for a name that is no column: Spark's own message names neither purpose nor key."""
    for name in names:
        if name.split(".", 1)[0] not in frame.columns:
            raise PipelineError(f"{purpose}: there is no column {name!r}{nearest(name, frame.columns)}")
