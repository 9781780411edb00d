"""[pure] The columns of a frame that is written: which there must be, of which types, and where."""

from dataclasses import dataclass
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructType,
    TimestampType,
)

from distributedlog.spark.errors import SparkSourceError


class UnwritableFrame(SparkSourceError, ValueError):
    """A frame's columns cannot be made into records."""


_TYPES: Final[dict[str, tuple[type[DataType], ...]]] = {
    "topic": (StringType,),
    "key": (StringType, BinaryType),
    "value": (StringType, BinaryType),
    "partition": (IntegerType,),
    "timestamp": (TimestampType,),
}
_ADVICE: Final = {
    "topic": "cast it to string",
    "key": "cast it to string, or make bytes of it with distributedlog.spark.functions",
    "value": "cast it to string, or pack columns with to_json(struct(...)) or distributedlog.spark.functions",
    "partition": "cast it to int",
    "timestamp": "cast it to timestamp",
    "headers": "make it an array of struct<key: string, value: binary>",
}


@dataclass(frozen=True, slots=True)
class OutputColumns:
    """Where each column stands in the frame; None for what it does not have."""

    value: int
    key: int | None = None
    topic: int | None = None
    partition: int | None = None
    headers: int | None = None
    timestamp: int | None = None

    @classmethod
    def of(cls, schema: StructType, default_topic: str | None) -> "OutputColumns":
        """UnwritableFrame where a column is missing or of a wrong type. Other columns are not looked at."""
        places: dict[str, int] = {}
        for place, field in enumerate(schema.fields):
            name = field.name.lower()
            if name not in _ADVICE:
                continue
            if name in places:
                raise UnwritableFrame(f"the frame has two columns {name!r}; drop or rename one")
            if not _fits(name, field.dataType):
                raise UnwritableFrame(
                    f"column {field.name!r} is {field.dataType.simpleString()}, which cannot be written; "
                    f"{_ADVICE[name]}"
                )
            places[name] = place
        if "value" not in places:
            columns = ", ".join(schema.fieldNames()) or "none"
            raise UnwritableFrame(
                f"the frame has no column 'value' (its columns: {columns}); {_ADVICE['value']}"
            )
        if default_topic is None and "topic" not in places:
            raise UnwritableFrame(
                "no topic is named: set the option 'topic', or give the frame a column 'topic'"
            )
        return cls(**places)


def _fits(name: str, kind: DataType) -> bool:
    if name != "headers":
        return isinstance(kind, _TYPES[name])
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    fields = [(field.name, type(field.dataType)) for field in kind.elementType.fields]
    return fields in (
        [("key", StringType), ("value", BinaryType)],
        [("key", StringType), ("value", StringType)],
    )
