"""From the archive back into a topic: keys, headers and timestamps as they were, in the order of the log."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.event_time import need_columns


def replay(
    frame: DataFrame,
    *,
    start: str | None = None,
    end: str | None = None,
    topics: Sequence[str] = (),
    keep_partitions: bool = False,
) -> DataFrame:
    """The archived records with ``start <= timestamp < end``, ready to be written.

    Records of one partition of the log come in the order they had in it, so that those of one key do. With
    `keep_partitions` each goes to the partition it came from; the topic must then have as many.
    """
    need_columns(frame, ["key", "value", "timestamp"], "replay")
    if start is not None:
        frame = frame.where(F.col("timestamp") >= _moment(start))
    if end is not None:
        frame = frame.where(F.col("timestamp") < _moment(end))
    if topics:
        need_columns(frame, ["topic"], "topics")
        frame = frame.where(F.col("topic").isin(*topics))
    logs = [name for name in ("topic", "partition") if name in frame.columns]
    if keep_partitions and "partition" not in logs:
        raise PipelineError("keep_partitions: the archive does not say which partition a record was in")
    if "offset" in frame.columns and logs:
        frame = frame.repartition(*logs).sortWithinPartitions(*logs, "offset")
    kept = ["key", "value", *(["headers"] if "headers" in frame.columns else []), "timestamp"]
    return frame.select(*kept, *(["partition"] if keep_partitions else []))


def _moment(text: str) -> Column:
    """`start` and `end` have a time zone of their own, or are in UTC."""
    moment = F.lit(text if text.endswith("Z") or "+" in text else f"{text}Z")
    return moment.cast("timestamp")
