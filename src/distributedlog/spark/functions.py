"""Payloads to columns and back: JSON, Avro and Protobuf, with and without Confluent's wire format.

    orders = topic.select(from_avro("value", registry="http://localhost:8081", subject="orders-value"))

Columns may be given by name. JSON is Spark's own work; Avro and Protobuf are decoded in Python, a batch at a
time. Each format is imported when it is first used, so that nobody needs the libraries of all three.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pyspark.sql import Column

    ColumnOrName: TypeAlias = Column | str

__all__ = ["from_avro", "from_json", "from_protobuf", "to_avro", "to_json", "to_protobuf"]


def from_json(column: "ColumnOrName", schema: Any = None, **options: Any) -> "Column":
    """See `json_columns.from_json`."""
    from distributedlog.spark import json_columns  # noqa: PLC0415

    return json_columns.from_json(_column(column), schema, **options)


def to_json(column: "ColumnOrName", **options: Any) -> "Column":
    """See `json_columns.to_json`."""
    from distributedlog.spark import json_columns  # noqa: PLC0415

    return json_columns.to_json(_column(column), **options)


def from_avro(column: "ColumnOrName", schema: Any = None, **options: Any) -> "Column":
    """See `avro_columns.from_avro`."""
    from distributedlog.spark import avro_columns  # noqa: PLC0415

    return avro_columns.from_avro(_column(column), schema, **options)


def to_avro(column: "ColumnOrName", schema: Any, **options: Any) -> "Column":
    """See `avro_columns.to_avro`."""
    from distributedlog.spark import avro_columns  # noqa: PLC0415

    return avro_columns.to_avro(_column(column), schema, **options)


def from_protobuf(column: "ColumnOrName", message: str, descriptor: Any = None, **options: Any) -> "Column":
    """See `protobuf_columns.from_protobuf`."""
    from distributedlog.spark import protobuf_columns  # noqa: PLC0415

    return protobuf_columns.from_protobuf(_column(column), message, descriptor, **options)


def to_protobuf(column: "ColumnOrName", message: str, descriptor: Any = None, **options: Any) -> "Column":
    """See `protobuf_columns.to_protobuf`."""
    from distributedlog.spark import protobuf_columns  # noqa: PLC0415

    return protobuf_columns.to_protobuf(_column(column), message, descriptor, **options)


def _column(column: "ColumnOrName") -> "Column":
    from pyspark.sql.functions import col  # noqa: PLC0415

    return col(column) if isinstance(column, str) else column
