"""The first of equal events; those that follow within the time bound go."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from distributedlog.pipelines.event_time import need_columns, with_watermark


def deduplicate(
    frame: DataFrame, *, by: Sequence[str], time: str = "timestamp", within: str = "10 minutes"
) -> DataFrame:
    """Rows that are the first with their values in the columns `by`.

    Two events that are not further apart than `within`, in event time, are recognised for certain; state
    older than that is forgotten. Without the bound state would grow with every event for ever.
    """
    need_columns(frame, [*by], "by")
    bounded = with_watermark(frame, time, within)
    if not bounded.isStreaming:
        return bounded.dropDuplicates([*by])
    return bounded.dropDuplicatesWithinWatermark([*by])
