"""A stream with another stream within a time bound, or with a table (as `latest_per_key` makes of a topic).

The table is read anew for each micro-batch, so that a change in its topic counts from the next batch on,
without a restart and without state. A table too large for that is better a stream: ``to="stream"``.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from distributedlog.pipelines.durations import spark_interval
from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.event_time import need_columns, with_watermark


def join(
    left: DataFrame,
    right: DataFrame,
    *,
    on: Mapping[str, str],
    to: str = "table",
    how: str = "inner",
    time: str = "timestamp",
    right_time: str = "timestamp",
    before: str = "0s",
    after: str = "10 minutes",
    watermark: str = "10 seconds",
    prefix: str | None = None,
) -> DataFrame:
    """The left columns, then the right ones without those of `on` (left name → right name).

    Of two streams, pairs match where ``left time - before <= right time <= left time + after``; an event of
    the left side without a partner comes out, with ``how="left"``, once none can come any more.
    """
    need_columns(left, [*on], "on, left side")
    need_columns(right, [*on.values()], "on, right side")
    if to == "stream":
        left = with_watermark(left, time, watermark)
        right = with_watermark(right, right_time, watermark)
    renamed = {name: f"__right_{place}" for place, name in enumerate(right.columns)}
    other = right.select(*(F.col(f"`{name}`").alias(new) for name, new in renamed.items()))
    condition = F.lit(True)
    for mine, theirs in on.items():
        condition &= F.col(mine) == F.col(renamed[theirs])
    if to == "stream":
        moment, other_moment = F.col(time), F.col(renamed[right_time])
        condition &= other_moment >= moment - F.expr(f"INTERVAL {spark_interval(before)}")
        condition &= other_moment <= moment + F.expr(f"INTERVAL {spark_interval(after)}")
    joined = left.join(other, condition, how)
    return joined.select(*left.columns, *_right_columns(left, renamed, set(on.values()), prefix))


def _right_columns(
    left: DataFrame, renamed: Mapping[str, str], keys: set[str], prefix: str | None
) -> list[Column]:
    """What the right side adds; the metadata of its records is left out."""
    columns = []
    for name, new in renamed.items():
        if name in keys or name == "record" or (prefix is None and name == "timestamp"):
            continue
        final = f"{prefix or ''}{name}"
        if final in left.columns:
            raise PipelineError(f"join: both sides have a column {final!r}; give the right ones a prefix")
        columns.append(F.col(new).alias(final))
    return columns
