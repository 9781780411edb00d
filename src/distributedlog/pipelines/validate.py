"""Records that do not fit the schema or a rule, to a dead-letter topic with the reason in their headers.

Good and bad records leave in one frame with a column ``topic``, so that one query writes both, in one
transaction where it is exactly-once: a record is in one of the two topics, never in both or in neither.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructType

from distributedlog.pipelines.event_time import need_columns
from distributedlog.pipelines.schemas import struct_of

REASON_HEADER: Final = "dlog.error.reason"
TOPIC_HEADER: Final = "dlog.error.topic"
PARTITION_HEADER: Final = "dlog.error.partition"
OFFSET_HEADER: Final = "dlog.error.offset"
_HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"
_BROKEN: Final = "__broken"
_NO_RULES: Final[Mapping[str, str]] = MappingProxyType({})


def validate(
    frame: DataFrame,
    *,
    topic: str,
    dead_letter_topic: str,
    schema: str | None = None,
    required: Sequence[str] = (),
    rules: Mapping[str, str] = _NO_RULES,
) -> DataFrame:
    """``key``, ``value``, ``headers``, ``timestamp`` as they were, and the ``topic`` where each belongs.

    The value is JSON of `schema` (None: anything is). A null value is a deletion and always good. A rule
    that is null (``amount > 0`` where there is no amount) is broken; reasons are given all at once.
    """
    need_columns(frame, ["key", "value"], "validate")
    if schema is None:
        judged = frame.select(F.struct("*").alias("record"), F.lit("").alias("reason"))
    else:
        judged = _judged(frame, schema, required, rules)
    is_good = (F.col("reason") == "") | F.col("record.value").isNull()
    columns = [F.col("record.key"), F.col("record.value")]
    headers = _headers(frame)
    columns.append(
        F.when(is_good, headers).otherwise(F.concat(headers, _error_headers(frame))).alias("headers")
    )
    if "timestamp" in frame.columns:
        columns.append(F.col("record.timestamp"))
    return judged.select(
        *columns, F.when(is_good, F.lit(topic)).otherwise(F.lit(dead_letter_topic)).alias("topic")
    )


def _judged(frame: DataFrame, schema: str, required: Sequence[str], rules: Mapping[str, str]) -> DataFrame:
    """The record as it was, and all that is wrong with it, as text; nothing is an empty one."""
    fields = struct_of(schema, "schema")
    names = fields.fieldNames()
    with_broken = StructType([*fields.fields]).add(_BROKEN, StringType())
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN, "timeZone": "UTC"}
    parsed = F.from_json(F.col("value").cast("string"), with_broken, options)
    open_frame = frame.select(F.struct("*").alias("__record"), parsed.alias("__value"))
    flat = open_frame.select(
        "__record",
        F.col(f"__value.{_BROKEN}").alias(_BROKEN),
        *(F.col(f"__value.`{name}`").alias(name) for name in names),
    )
    is_broken = F.col(_BROKEN).isNotNull()
    reasons = [F.when(is_broken, F.lit("the value does not fit the schema"))]
    reasons += [
        F.when(~is_broken & F.col(f"`{name}`").isNull(), F.lit(f"{name} is missing")) for name in required
    ]
    for name, condition in rules.items():
        holds = F.coalesce(F.expr(condition).cast("boolean"), F.lit(False))
        reasons.append(F.when(~is_broken & ~holds, F.lit(f"rule {name} is broken: {condition}")))
    return flat.select(F.col("__record").alias("record"), F.concat_ws("; ", *reasons).alias("reason"))


def _headers(frame: DataFrame) -> Column:
    if "headers" not in frame.columns:
        return F.array().cast(_HEADERS_TYPE)
    return F.coalesce(F.col("record.headers"), F.array()).cast(_HEADERS_TYPE)


def _error_headers(frame: DataFrame) -> Column:
    """The reason, and where the record came from, as far as the frame knows it."""
    pairs = [(REASON_HEADER, F.col("reason"))]
    for header, name in ((TOPIC_HEADER, "topic"), (PARTITION_HEADER, "partition"), (OFFSET_HEADER, "offset")):
        if name in frame.columns:
            pairs.append((header, F.col(f"record.{name}").cast("string")))
    return F.array(
        *(
            F.struct(F.lit(name).alias("key"), text.cast("string").cast("binary").alias("value"))
            for name, text in pairs
        )
    ).cast(_HEADERS_TYPE)
