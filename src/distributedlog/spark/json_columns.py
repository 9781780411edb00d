"""JSON payloads to columns and back: Spark's own functions do it, once a schema has become one of Spark's."""

import json
from pathlib import Path
from typing import Any, Final

from pyspark.sql import Column, functions
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from distributedlog.spark.avro_types import UnsupportedSchema
from distributedlog.spark.confluent_format import PREFIX, frame
from distributedlog.spark.payload_columns import Mode, check_mode
from distributedlog.spark.schema_sources import Registry, schema_text

_PLAIN: Final[dict[str, DataType]] = {
    "string": StringType(),
    "integer": LongType(),
    "number": DoubleType(),
    "boolean": BooleanType(),
}


def from_json(
    column: Column,
    schema: StructType | str | Path | None = None,
    *,
    registry: str | None = None,
    subject: str | None = None,
    confluent: bool | None = None,
    mode: Mode = "FAILFAST",
) -> Column:
    """The column that JSON payloads hold. `schema` is Spark's, its DDL (``id BIGINT, name STRING``), a JSON
    Schema or a file with one of the two; or it is the newest of `subject` in the `registry`."""
    check_mode(mode)
    if schema is None:
        if registry is None or subject is None:
            raise ValueError("from_json needs a schema, or a registry and a subject")
        schema = Registry(registry).latest(subject)[1]
    is_framed = registry is not None if confluent is None else confluent
    content = functions.substring(column, PREFIX.size + 1, 2**31 - 1) if is_framed else column
    return functions.from_json(content.cast("string"), spark_schema(schema), {"mode": mode})


def to_json(
    column: Column,
    *,
    schema: str | Path | None = None,
    registry: str | None = None,
    subject: str | None = None,
    schema_id: int | None = None,
) -> Column:
    """The column as JSON payloads; behind Confluent's prefix where there is an id."""
    if registry is not None:
        if subject is None or schema is None:
            raise ValueError("to_json with a registry needs a JSON Schema, and the subject to put it under")
        schema_id = Registry(registry).register(subject, schema_text(schema), "JSON")
    content = functions.to_json(column).cast("binary")
    if schema_id is None:
        return content
    framed = functions.concat(functions.lit(bytearray(frame(schema_id))), content)
    return functions.when(column.isNotNull(), framed)


def spark_schema(schema: StructType | str | Path) -> StructType:
    """Spark's schema of what may also be DDL, JSON Schema, or a file of either."""
    if isinstance(schema, StructType):
        return schema
    text = schema_text(schema)
    if not text.lstrip().startswith("{"):
        kind: DataType = StructType.fromDDL(text)
    else:
        kind, _ = json_type(json.loads(text))
    if not isinstance(kind, StructType):
        raise UnsupportedSchema("a schema of JSON payloads must describe an object")
    return kind


def json_type(schema: dict[str, Any], root: dict[str, Any] | None = None) -> tuple[DataType, bool]:
    """(type, whether it may be null) of a JSON Schema; what it leaves open is text."""
    root = schema if root is None else root
    if "$ref" in schema:
        return json_type(_referred(schema["$ref"], root), root)
    for several in ("oneOf", "anyOf"):
        if several in schema:
            members = [member for member in schema[several] if member.get("type") != "null"]
            if len(members) == 1:
                return json_type(members[0], root)[0], len(members) < len(schema[several])
            return StringType(), True
    kind = schema.get("type", "object" if "properties" in schema else "string")
    nullable = False
    if isinstance(kind, list):
        others = [member for member in kind if member != "null"]
        nullable = len(others) < len(kind)
        kind = others[0] if len(others) == 1 else "string"
    if kind == "object":
        return _object(schema, root), nullable
    if kind == "array":
        element, element_nullable = json_type(schema.get("items", {}), root)
        return ArrayType(element, element_nullable), nullable
    return _PLAIN.get(kind, StringType()), nullable


def _object(schema: dict[str, Any], root: dict[str, Any]) -> DataType:
    properties = schema.get("properties")
    if properties is None:
        extra = schema.get("additionalProperties")
        value, nullable = json_type(extra, root) if isinstance(extra, dict) else (StringType(), True)
        return MapType(StringType(), value, nullable)
    return StructType([StructField(name, json_type(found, root)[0]) for name, found in properties.items()])


def _referred(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    place: Any = root
    try:
        if not reference.startswith("#/"):
            raise KeyError(reference)
        for step in reference[2:].split("/"):
            place = place[step]
    except (KeyError, TypeError):
        raise UnsupportedSchema(f"the JSON Schema refers to {reference!r}, which is not in it") from None
    return place  # type: ignore[no-any-return]
