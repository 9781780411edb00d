"""kafka-python's messages, built from trees and turned back into them (see ``trees.py``)."""

import uuid
import warnings
from types import SimpleNamespace

with warnings.catch_warnings():
    # Its schemas are read with a deprecated function of importlib.resources.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol import admin, consumer, metadata, producer, sasl

MODULES = (admin, consumer, metadata, producer, sasl)
ALL_OPERATIONS_UNKNOWN = -(2**31)


def message_class(name):
    """The class of this name, or None where kafka-python does not have the message."""
    return next((vars(module)[name] for module in MODULES if name in vars(module)), None)


def from_tree(message, version, tree):
    """One of kafka-python's messages that says what the tree says."""
    return _fill(message, message._struct, version, tree)


def to_tree(message, version):
    """The tree of one of kafka-python's messages; tagged fields only where they are not the default."""
    return _empty(message, message._struct, version)


def _fill(make, struct, version, tree):
    values, tags = tree
    arguments = {
        field.name: _to_theirs(field, version, value)
        for field, value in zip(struct.untagged_fields(version), values, strict=True)
    }
    for field in struct._fields:
        if field.tagged_field_q(version) and field.tag in tags:
            arguments[field.name] = _to_theirs(field, version, tags[field.tag])
    # Classes of nested structs come into being when one is first decoded; attributes are all it takes.
    return SimpleNamespace(**arguments) if make is None else make(version=version, **arguments)


def _to_theirs(field, version, value):
    if value is None:
        return None
    if field.is_struct_array():
        return [_fill(field.data_class, field, version, item) for item in value]
    if field.is_struct():
        return _fill(field.data_class, field, version, value)
    match field.type_str:
        case "[]uuid":
            return [uuid.UUID(bytes=item) for item in value]
        case "uuid":
            return uuid.UUID(bytes=value)
        case "bitfield":
            bits = {bit for bit in range(32) if value >> bit & 1}
            return None if value == ALL_OPERATIONS_UNKNOWN else bits
    return value


def _empty(message, struct, version):
    values = [_to_ours(field, version, message) for field in struct.untagged_fields(version)]
    tags = {
        field.tag: _to_ours(field, version, message)
        for field in struct._fields
        if field.tagged_field_q(version) and getattr(message, field.name) != field.default
    }
    return values, tags


def _to_ours(field, version, message):
    value = getattr(message, field.name)
    match field.type_str:
        case "uuid":
            return bytes(16) if value is None else value.bytes
        case "bitfield":
            return ALL_OPERATIONS_UNKNOWN if value is None else _signed(sum(1 << bit for bit in value))
    if value is None:
        return None
    if field.is_struct_array():
        return [_empty(item, field, version) for item in value]
    if field.is_struct():
        return _empty(value, field, version)
    if field.is_array():
        return (
            [bytes(16) if item is None else item.bytes for item in value]
            if field.type_str == "[]uuid"
            else value
        )
    return bytes(value) if isinstance(value, memoryview) else value


def _signed(bits):
    return bits - (1 << 32) if bits >= 1 << 31 else bits
