"""Windows over event time: tumbling, hopping and sessions, with any SQL aggregate, per key.

State is in RocksDB and leaves it with the watermark. An event that comes later than that changes nothing
and is counted: `numRowsDroppedByWatermark` in Spark's progress, ``late`` in `dlog pipeline status`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from distributedlog.pipelines.durations import spark_interval
from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.event_time import need_columns, with_watermark

COUNT: Final[Mapping[str, str]] = MappingProxyType({"count": "count(*)"})


def aggregate(
    frame: DataFrame,
    *,
    by: Sequence[str] = (),
    time: str = "timestamp",
    window: str | None = None,
    slide: str | None = None,
    gap: str | None = None,
    watermark: str = "10 seconds",
    values: Mapping[str, str] = COUNT,
) -> DataFrame:
    """One row for each key and window: the keys, ``window_start``, ``window_end``, and the `values`.

    `window` alone is tumbling, with `slide` hopping; `gap` makes sessions. In output mode ``update`` a row
    comes with every change, in ``append`` once, when the watermark has passed its window.
    """
    need_columns(frame, [*by], "by")
    grouped = with_watermark(frame, time, watermark).groupBy(
        *(F.col(name) for name in by), _window(time, window, slide, gap).alias("window")
    )
    results = grouped.agg(*(F.expr(sql).alias(name) for name, sql in values.items()))
    return results.select(
        *(_last_part(name) for name in by),
        F.col("window.start").alias("window_start"),
        F.col("window.end").alias("window_end"),
        *values,
    )


def _window(time: str, window: str | None, slide: str | None, gap: str | None) -> Column:
    if (window is None) == (gap is None):
        raise PipelineError("aggregate takes either window (with slide) or gap")
    if gap is not None:
        return F.session_window(F.col(time), spark_interval(gap))
    assert window is not None
    if slide is None:
        return F.window(F.col(time), spark_interval(window))
    return F.window(F.col(time), spark_interval(window), spark_interval(slide))


def _last_part(name: str) -> str:
    """A field of a struct is called by its own name behind a groupBy."""
    return name.rsplit(".", 1)[-1]
