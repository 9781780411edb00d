"""[pure] The columns of a topic as Spark has them: names, types, and what a user's own schema may ask for."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from distributedlog.spark.errors import InvalidSparkOption
from distributedlog.spark.read_options import checked_columns

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
TYPES: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(_HEADER),
}


def spark_schema(columns: Sequence[str]) -> StructType:
    """These columns, each of which may be null as in Spark's own source."""
    return StructType([StructField(name, TYPES[name]) for name in columns])


def check_schema(schema: StructType) -> tuple[str, ...]:
    """The columns that a schema names, Spark's or the user's own: any of ours, in any order, of our types."""
    names = checked_columns(schema.fieldNames(), "the schema")
    for field in schema.fields:
        wanted = TYPES[field.name]
        if field.dataType != wanted:
            raise InvalidSparkOption(
                f"the schema gives column {field.name!r} the type {field.dataType.simpleString()}; it is "
                f"{wanted.simpleString()}, and can be cast after loading"
            )
    return names
