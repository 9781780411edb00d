"""Several origins of one entity, as ``orders`` and ``dc2.orders``, as one view that is the same everywhere.

Whatever order the records arrive in, and however often, the view is the same: each way of merging is a
function of the *set* of versions of a key, and every choice between two versions is by a total order that
arrival has no part in. (Offsets have: a record that a producer sent twice has two.)
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.event_time import need_columns


class Version(NamedTuple):
    """What one origin once said of a key; ``value`` is None where it deleted it."""

    timestamp: datetime
    origin: str
    value: bytes | None


#: From all versions, in the one order, to the value of the view; None deletes.
MergeFunction = Callable[[list[Version]], "bytes | str | None"]


def merge(
    frame: DataFrame,
    *,
    keep: str = "last",
    function: MergeFunction | None = None,
    origin: str = "topic",
    rank: Sequence[str] = (),
) -> DataFrame:
    """One row a key: ``key``, ``value``, and the ``timestamp`` of its newest version.

    ``last``: the version with the latest timestamp; of equal ones the origin that stands first in `rank`,
    then the one last in the alphabet, then a deletion, then the greatest value; its origin is in the column
    ``origin``. ``all``: a JSON array of all different versions, oldest first. ``function``: what yours makes
    of them.
    """
    need_columns(frame, ["key", "value", "timestamp"], "merge")
    if (keep == "function") != (function is not None):
        raise PipelineError("merge: keep='function' and a function go together")
    versions = frame.where(F.col("key").isNotNull()).select("key", _version(origin, rank).alias("version"))
    if keep == "last":
        latest = versions.groupBy("key").agg(F.max("version").alias("version"))
        return latest.select("key", "version.value", "version.timestamp", "version.origin")
    sets = versions.groupBy("key").agg(F.sort_array(F.collect_set("version")).alias("versions"))
    newest = F.element_at("versions", -1)["timestamp"].alias("timestamp")
    if function is None:
        return sets.select("key", _as_json("versions").alias("value"), newest)
    return sets.select("key", _merged_by(function)("versions").alias("value"), newest)


def _version(origin: str, rank: Sequence[str]) -> Column:
    """A struct whose own order is the one that decides."""
    place = F.lit(0)
    for strength, name in enumerate(reversed(rank), 1):
        place = F.when(F.expr(origin) == name, strength).otherwise(place)
    return F.struct(
        F.coalesce("timestamp", F.timestamp_millis(F.lit(0).cast("long"))).alias("timestamp"),
        place.alias("strength"),
        F.expr(origin).cast("string").alias("origin"),
        F.col("value").isNull().alias("is_deleted"),
        F.col("value").cast("binary").alias("value"),
    )


def _as_json(versions: str) -> Column:
    readable = F.transform(
        versions,
        lambda version: F.struct(
            version["timestamp"].alias("timestamp"),
            version["origin"].alias("origin"),
            version["value"].cast("string").alias("value"),
        ),
    )
    return F.to_json(readable, {"timeZone": "UTC"}).cast("binary")


def _merged_by(function: MergeFunction) -> Callable[[str], Column]:
    def call(versions):  # type: ignore[no-untyped-def]  # Spark would take hints for the UDF's kind
        merged = function(
            [
                Version(timestamp, origin, None if is_deleted or value is None else bytes(value))
                for timestamp, _, origin, is_deleted, value in versions
            ]
        )
        return merged.encode() if isinstance(merged, str) else merged

    return F.udf(call, BinaryType())
