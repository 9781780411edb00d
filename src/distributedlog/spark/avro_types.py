"""[pure] The type that an Avro schema has in Spark."""

from typing import Any, Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from distributedlog.spark.errors import SparkSourceError

_PRIMITIVES: Final[dict[str, DataType]] = {
    "null": NullType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bytes": BinaryType(),
    "string": StringType(),
}
_LOGICAL: Final[dict[str, DataType]] = {
    "date": DateType(),
    "timestamp-millis": TimestampType(),
    "timestamp-micros": TimestampType(),
    "local-timestamp-millis": TimestampNTZType(),
    "local-timestamp-micros": TimestampNTZType(),
    "uuid": StringType(),
}


class UnsupportedSchema(SparkSourceError):
    """A schema describes what has no column type here."""


def spark_type(schema: Any, names: dict[str, Any] | None = None) -> tuple[DataType, bool]:
    """(type, whether it may be null). `names` are the named types met so far."""
    names = {} if names is None else names
    if isinstance(schema, list):
        return _union(schema, names)
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return _PRIMITIVES[schema], schema == "null"
        if names.get(schema) is None:
            raise UnsupportedSchema(f"the Avro type {schema!r} is unknown, or part of itself")
        return names[schema], False
    logical = schema.get("logicalType")
    if logical == "decimal":
        return DecimalType(schema["precision"], schema.get("scale", 0)), False
    if logical in _LOGICAL:
        return _LOGICAL[logical], False
    kind = schema["type"]
    if kind in {"record", "error"}:
        return _record(schema, names), False
    if kind == "enum":
        return _named(schema, names, StringType()), False
    if kind == "fixed":
        return _named(schema, names, BinaryType()), False
    if kind == "array":
        element, nullable = spark_type(schema["items"], names)
        return ArrayType(element, nullable), False
    if kind == "map":
        value, nullable = spark_type(schema["values"], names)
        return MapType(StringType(), value, nullable), False
    return spark_type(kind, names)


def _record(schema: dict[str, Any], names: dict[str, Any]) -> Any:
    _named(schema, names, None)  # until it is done it is part of itself
    fields = []
    for field in schema["fields"]:
        kind, nullable = spark_type(field["type"], names)
        fields.append(StructField(field["name"], kind, nullable))
    return _named(schema, names, StructType(fields))


def _named(schema: dict[str, Any], names: dict[str, Any], kind: Any) -> Any:
    name = schema["name"]
    names[name] = names[f"{schema['namespace']}.{name}" if schema.get("namespace") else name] = kind
    return kind


def _union(members: list[Any], names: dict[str, Any]) -> tuple[DataType, bool]:
    kinds = [spark_type(member, names)[0] for member in members if member != "null"]
    nullable = "null" in members
    if len(kinds) == 1:
        return kinds[0], nullable
    if kinds and all(isinstance(kind, IntegerType | LongType) for kind in kinds):
        return LongType(), nullable
    if kinds and all(isinstance(kind, FloatType | DoubleType) for kind in kinds):
        return DoubleType(), nullable
    raise UnsupportedSchema(
        f"the Avro union {members!r} has no column type: a union may have null and one other type"
    )
