"""Topics as files, by date and hour: which rows, and where they belong. `lake_writer` puts them there."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from distributedlog.pipelines.event_time import need_columns

#: The parts of the path; in UTC, whatever the session's time zone is.
PARTITIONS: Final = ("date", "hour")
_HOUR_MS: Final = 3_600_000


def archive(frame: DataFrame, *, time: str = "timestamp") -> DataFrame:
    """The frame with ``date`` and ``hour`` of each row's `time`; whatever had these names is replaced."""
    need_columns(frame, [time], "the event's time")
    hours = F.floor(F.unix_millis(F.col(time)) / _HOUR_MS)
    return frame.withColumns(
        {
            "date": F.date_from_unix_date(F.floor(hours / 24).cast("int")),
            "hour": F.pmod(hours, F.lit(24)).cast("int"),
        }
    )
