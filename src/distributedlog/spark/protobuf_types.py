"""[pure] Protobuf messages as rows: the types in Spark, and values both ways."""

from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor  # type: ignore[import-untyped]
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from distributedlog.spark.avro_types import UnsupportedSchema

_TIMESTAMP: Final = "google.protobuf.Timestamp"
_SCALARS: Final[dict[int, DataType]] = {
    FieldDescriptor.CPPTYPE_INT32: IntegerType(),
    FieldDescriptor.CPPTYPE_INT64: LongType(),
    FieldDescriptor.CPPTYPE_UINT32: LongType(),
    FieldDescriptor.CPPTYPE_UINT64: DecimalType(20, 0),
    FieldDescriptor.CPPTYPE_DOUBLE: DoubleType(),
    FieldDescriptor.CPPTYPE_FLOAT: FloatType(),
    FieldDescriptor.CPPTYPE_BOOL: BooleanType(),
    FieldDescriptor.CPPTYPE_ENUM: StringType(),
}


def spark_type(message: Descriptor, outer: tuple[str, ...] = ()) -> StructType:
    """A struct with the message's fields. A message that is part of itself has none."""
    if message.full_name in outer:
        raise UnsupportedSchema(f"the message {message.full_name} is part of itself: Spark has no such type")
    inside = (*outer, message.full_name)
    return StructType([StructField(field.name, _field_type(field, inside)) for field in message.fields])


def _field_type(field: FieldDescriptor, outer: tuple[str, ...]) -> DataType:
    if _is_map(field):
        entry = field.message_type.fields_by_name
        return MapType(_single_type(entry["key"], outer), _single_type(entry["value"], outer))
    kind = _single_type(field, outer)
    return ArrayType(kind, containsNull=False) if field.is_repeated else kind


def _single_type(field: FieldDescriptor, outer: tuple[str, ...]) -> DataType:
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return TimestampType()
        return spark_type(field.message_type, outer)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return BinaryType() if field.type == FieldDescriptor.TYPE_BYTES else StringType()
    return _SCALARS[field.cpp_type]


def read_message(message: Any) -> dict[str, Any]:
    """A message as a dict that Arrow makes a struct of; fields that are not set are null if they can be."""
    row: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        name = field.name
        value = getattr(message, name)
        if _is_map(field):
            inner = field.message_type.fields_by_name["value"]
            row[name] = [(key, _read(inner, value[key])) for key in value]
        elif field.is_repeated:
            row[name] = [_read(field, element) for element in value]
        elif field.has_presence and not message.HasField(name):
            row[name] = None
        else:
            row[name] = _read(field, value)
    return row


def _read(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return value.seconds * 1_000_000 + value.nanos // 1_000
        return read_message(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    return value


def fill_message(message: Any, row: dict[str, Any]) -> None:
    """Set the fields that the row has; null stands for a field that is not set."""
    fields = message.DESCRIPTOR.fields_by_name
    for name, value in row.items():
        field = fields.get(name)
        if field is None:
            raise UnsupportedSchema(f"the message {message.DESCRIPTOR.full_name} has no field {name!r}")
        if value is None:
            continue
        if _is_map(field):
            _fill_map(getattr(message, name), field, value)
        elif field.is_repeated:
            for element in value:
                if field.message_type is not None:
                    _fill(getattr(message, name).add(), field, element)
                else:
                    getattr(message, name).append(_scalar(field, element))
        elif field.message_type is not None:
            inner = getattr(message, name)
            inner.SetInParent()
            _fill(inner, field, value)
        else:
            setattr(message, name, _scalar(field, value))


def _fill(inner: Any, field: FieldDescriptor, value: Any) -> None:
    if field.message_type.full_name == _TIMESTAMP:
        inner.FromDatetime(value)
    else:
        fill_message(inner, value)


def _fill_map(entries: Any, field: FieldDescriptor, pairs: Any) -> None:
    inner = field.message_type.fields_by_name["value"]
    for key, value in pairs.items() if isinstance(pairs, dict) else pairs:
        if inner.message_type is not None:
            _fill(entries[key], inner, value)
        else:
            entries[key] = _scalar(inner, value)


def _scalar(field: FieldDescriptor, value: Any) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_name.get(value)
        if known is None:
            raise UnsupportedSchema(f"{field.enum_type.full_name} has no value {value!r}")
        return known.number
    return int(value) if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else value


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry
