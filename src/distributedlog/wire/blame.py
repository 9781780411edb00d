"""Finds the field that made an encoder fail, after it has failed."""

from struct import error as struct_error
from struct import pack
from typing import Any

from distributedlog.wire.errors import EncodeError
from distributedlog.wire.layout import Array, Blob, Field, Layout, Scalar, Struct, Text, WireType
from distributedlog.wire.primitives import TEXT_LENGTH_MAX


def blame(layout: Layout, message: Any, error: Exception) -> EncodeError:
    """The error that names the first field whose value cannot be encoded, and says why."""
    name = layout.struct.__name__
    reason = _struct_reason(layout, message, name)
    return EncodeError(reason or f"{name} cannot be encoded in version {layout.version}: {error}")


def _struct_reason(layout: Layout, value: Any, path: str) -> str | None:
    if not isinstance(value, layout.struct):
        return f"{path} must be a {layout.struct.__name__}, not {value!r}"
    for field in (*layout.present, *(field for _, field in layout.tagged)):
        where = f"{path}.{field.name}"
        try:
            held = getattr(value, field.name)
        except AttributeError:
            return f"{where} is not set"
        reason = _field_reason(field, held, where)
        if reason:
            return reason
    return None


def _field_reason(field: Field, value: Any, path: str) -> str | None:
    if value is None:
        return None if field.nullable else f"{path} is None, which this version does not allow"
    return _reason(field.type, value, path)


def _reason(wire_type: WireType, value: Any, path: str) -> str | None:
    match wire_type:
        case Scalar(name=name, format=code):
            return _scalar_reason(name, code, value, path)
        case Text():
            return _text_reason(value, path)
        case Blob(is_records):
            return _blob_reason(is_records, value, path)
        case Struct(layout):
            return _struct_reason(layout, value, path)
        case Array(element):
            if not hasattr(value, "__len__") or not hasattr(value, "__iter__"):
                return f"{path} must be a list, not {value!r}"
            reasons = (_reason(element, item, f"{path}[{index}]") for index, item in enumerate(value))
            return next((reason for reason in reasons if reason), None)


def _scalar_reason(name: str, code: str, value: Any, path: str) -> str | None:
    try:
        pack(">" + code, value)
    except struct_error as error:
        return f"{path} cannot be an {name}: {value!r} ({error})"
    return None


def _text_reason(value: Any, path: str) -> str | None:
    if not isinstance(value, str):
        return f"{path} must be a str, not {value!r}"
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        return f"{path} cannot be written as UTF-8: {error}"
    if size > TEXT_LENGTH_MAX:
        return f"{path} has {size} bytes, a string has {TEXT_LENGTH_MAX} at most"
    return None


def _blob_reason(is_records: bool, value: Any, path: str) -> str | None:
    if isinstance(value, bytes | bytearray | memoryview):
        return None
    if is_records and hasattr(value, "__len__"):
        return f"{path} is a region without bytes: only encode_pieces can pass it on"
    return f"{path} must be bytes, not {value!r}"
