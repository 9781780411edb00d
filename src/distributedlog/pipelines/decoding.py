"""From a topic's columns to fields: what ``[source] value``, ``columns`` and ``where`` ask for."""

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.schemas import struct_of

#: Everything that the log knows of the record, beside the fields of its value.
RECORD: Final = "record"


def decode(frame: DataFrame, source: Mapping[str, Any]) -> DataFrame:
    """The value's fields as columns, ``record`` with the log's own (key, offset, headers …), ``timestamp``.

    With ``value = "bytes"`` the columns stay as they are. A record whose value is null has no fields and is
    left out; one that cannot be decoded fails the query, since to leave it out would lose it silently:
    `validate` is the way to sort such records out.
    """
    kind = source["value"]
    if kind == "text":
        frame = frame.withColumn("value", F.col("value").cast("string"))
    elif kind != "bytes":
        frame = _fields(frame.where(F.col("value").isNotNull()), kind, source)
    for name, sql in source["columns"].items():
        frame = frame.withColumn(name, F.expr(sql))
    return frame if source["where"] is None else frame.where(source["where"])


def _fields(frame: DataFrame, kind: str, source: Mapping[str, Any]) -> DataFrame:
    is_plain = kind == "json" and source["registry"] is None
    value = _json(source["schema"]) if is_plain else _other(kind, source)
    decoded = frame.select(F.struct("*").alias(RECORD), value.alias("__value"))
    found = decoded.schema["__value"].dataType
    if not isinstance(found, StructType):
        raise PipelineError(f"[source] schema: a value of {found.simpleString()} has no fields")
    columns = [F.col(f"__value.`{name}`").alias(name) for name in found.fieldNames()]
    if "timestamp" not in found.fieldNames() and "timestamp" in frame.columns:
        columns.append(F.col(f"{RECORD}.timestamp").alias("timestamp"))
    return decoded.select(*columns, *([] if RECORD in found.fieldNames() else [RECORD]))


def _json(schema: str) -> Column:
    options = {"mode": "FAILFAST", "timeZone": "UTC"}
    return F.from_json(F.col("value").cast("string"), struct_of(schema, "[source] schema"), options)


def _other(kind: str, source: Mapping[str, Any]) -> Column:
    from distributedlog.spark import functions  # noqa: PLC0415  (Avro and Protobuf have packages of their own)

    schema, where = source["schema"], {"registry": source["registry"], "subject": source["subject"]}
    if kind == "avro":
        return functions.from_avro("value", schema, **where)
    if kind == "protobuf":
        return functions.from_protobuf("value", source["message"], schema, **where)
    return functions.from_json("value", schema, **where)
