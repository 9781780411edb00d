"""Runs kio in a process of its own, because bytes that it does not like abort the process.

Takes pickled questions on stdin and answers on stdout. Messages travel as plain trees: a struct is
``(values of the fields in wire order, {tag: value})``, all else is int, float, bool, str, bytes, list
or None, so that neither side knows the other's classes.
"""

import datetime
import io
import pickle
import pkgutil
import sys
import traceback
import uuid
from dataclasses import fields
from functools import cache
from importlib import import_module

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.serial._introspect import (
    EntityField,
    EntityTupleField,
    classify_field,
    get_field_tag,
    get_schema_field_type,
    is_optional,
)
from kio.static.constants import EntityType

MILLISECOND = datetime.timedelta(milliseconds=1)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@cache
def entity_class(name, version, kind):
    module = import_module(f"kio.schema.{name}.v{version}.{kind}")
    (found,) = (
        value
        for value in vars(module).values()
        if getattr(value, "__type__", None) is EntityType[kind] and value.__module__ == module.__name__
    )
    return found


def describe(entity):
    """The fields as (name, tag, kafka type or nested description, is array, is optional)."""
    described = []
    for field in fields(entity):
        field_class = classify_field(field)
        if isinstance(field_class, EntityField | EntityTupleField):
            inner = describe(field_class.type_)
        else:
            inner = get_schema_field_type(field)
        described.append((field.name, get_field_tag(field), inner, field_class.is_array, optional(field)))
    return described


def optional(field):
    """Whether null is allowed; kio's own function does not look at the array around an element."""
    return is_optional(field) or str(field.type).endswith("| None")


def to_kio(value, kafka_type):
    match kafka_type:
        case "error_code":
            return ErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return datetime.timedelta(milliseconds=value)
        case "datetime_i64":
            return None if value == -1 else EPOCH + value * MILLISECOND
        case "uuid":
            return None if value == bytes(16) else uuid.UUID(bytes=value)
    return value


def from_kio(value, kafka_type):
    match kafka_type:
        case "error_code":
            return int(value)
        case "timedelta_i32" | "timedelta_i64":
            return value // MILLISECOND
        case "datetime_i64":
            return -1 if value is None else (value - EPOCH) // MILLISECOND
        case "uuid":
            return bytes(16) if value is None else value.bytes
        case "records":
            return None if value is None else bytes(value)
    return value


def entity_from_tree(entity, tree):
    values, tags = tree
    in_order = iter(values)
    arguments = {}
    for field in fields(entity):
        tag = get_field_tag(field)
        if tag is None:
            arguments[field.name] = field_from_tree(field, next(in_order))
        elif tag in tags:
            arguments[field.name] = field_from_tree(field, tags[tag])
    return entity(**arguments)


def field_from_tree(field, value):
    field_class = classify_field(field)
    if isinstance(field_class, EntityField | EntityTupleField):
        if value is None:
            return None
        if field_class.is_array:
            return tuple(entity_from_tree(field_class.type_, item) for item in value)
        return entity_from_tree(field_class.type_, value)
    kafka_type = get_schema_field_type(field)
    if field_class.is_array:
        return None if value is None else tuple(to_kio(item, kafka_type) for item in value)
    return to_kio(value, kafka_type)


def tree_from_entity(entity):
    values, tags = [], {}
    for field in fields(entity):
        value = tree_from_field(field, getattr(entity, field.name))
        tag = get_field_tag(field)
        if tag is None:
            values.append(value)
        else:
            tags[tag] = value
    return values, tags


def tree_from_field(field, value):
    field_class = classify_field(field)
    if isinstance(field_class, EntityField | EntityTupleField):
        if value is None:
            return None
        return [tree_from_entity(item) for item in value] if field_class.is_array else tree_from_entity(value)
    kafka_type = get_schema_field_type(field)
    if field_class.is_array:
        return None if value is None else [from_kio(item, kafka_type) for item in value]
    return from_kio(value, kafka_type)


def versions_of(name):
    """The versions of an API with their key and whether they are flexible."""
    package = import_module(f"kio.schema.{name}")
    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        version = int(module.name.removeprefix("v"))
        both = [entity_class(name, version, kind) for kind in ("request", "response")]
        (found[version],) = {(int(entity.__api_key__), entity.__flexible__) for entity in both}
    return found


def answer(question, *arguments):
    match question:
        case "error codes":
            return {int(code): (code.name.upper(), code.retriable) for code in ErrorCode}
        case "versions":
            return versions_of(*arguments)
    return answer_about_message(question, *arguments)


def answer_about_message(question, name, version, kind, *rest):
    entity = entity_class(name, version, kind)
    if question == "describe":
        return describe(entity)
    tree, data = rest
    buffer = io.BytesIO()
    entity_writer(entity)(buffer, entity_from_tree(entity, tree))
    if buffer.getvalue() != data:
        return buffer.getvalue(), None
    decoded, size = entity_reader(entity)(data, 0)
    return buffer.getvalue(), (tree_from_entity(decoded), size)


def main():
    while True:
        try:
            question = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            reply = ("answer", answer(*question))
        except Exception:  # noqa: BLE001 - whatever kio raises is an answer
            reply = ("error", traceback.format_exc())
        pickle.dump(reply, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
