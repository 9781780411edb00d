"""The latest record of each key: what a compacted topic means, as a table."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from distributedlog.pipelines.event_time import need_columns

_KEPT: Final = ("value", "headers", "topic", "partition", "offset", "timestamp")


def latest_per_key(frame: DataFrame, order: str = "offset") -> DataFrame:
    """One row a key, deleted ones included (their value is null); records without a key are none's.

    A built-in aggregate, so that a stream's state is Spark's own. ``offset`` is the log's order, which holds
    as long as a key stays in its partition; ``timestamp`` is for topics to which partitions were added.
    """
    need_columns(frame, ["key", "value", order], "a changelog")
    kept = [name for name in _KEPT if name in frame.columns]
    latest = F.max_by(F.struct(*kept), F.struct(*_order(frame, order))).alias("latest")
    keyed = frame.where(F.col("key").isNotNull())
    return keyed.groupBy("key").agg(latest).select("key", "latest.*")


def _order(frame: DataFrame, order: str) -> list[Column]:
    """Total: two records that are equal in all of it are the same record, or equal anyway."""
    names = [order, *(name for name in ("timestamp", "offset", "partition") if name in frame.columns)]
    return [*(F.col(name) for name in dict.fromkeys(names)), F.col("value").isNull(), F.col("value")]
