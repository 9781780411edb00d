"""[pure] From Python values to bytes and back: plain callables, and two that everybody needs.

A serialiser takes a value and returns bytes; a deserialiser the other way round. None never reaches one: it
is Kafka's null in both directions.
"""

import json
from collections.abc import Callable
from typing import Any

from distributedlog.client.errors import InvalidOption, SerialisationFailed

Serializer = Callable[[Any], bytes]
Deserializer = Callable[[bytes], Any]

_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def to_json(value: Any) -> bytes:
    """The shortest JSON text, in UTF-8. NaN and infinity have none and are refused."""
    return _compact(value).encode()


def from_json(data: bytes) -> Any:
    return json.loads(data)


def to_text(value: str) -> bytes:
    return value.encode()


def from_text(data: bytes) -> str:
    return data.decode()


def checked_callable(option: str, given: object) -> Any:
    """The option's value when it can be called; None stays None."""
    if given is not None and not callable(given):
        raise InvalidOption(f"{option} is {given!r}; it must be a callable")
    return given


def serialised(serializer: Serializer, value: Any, what: str) -> bytes | None:
    """The bytes of a value; SerialisationFailed with the value's kind when the serialiser refuses it."""
    if value is None:
        return None
    try:
        return serializer(value)
    except Exception as error:
        kind = type(value).__name__
        raise SerialisationFailed(f"{what} of type {kind} cannot be serialised: {error}") from error


def deserialised(deserializer: Deserializer, data: bytes | None, place: str) -> Any:
    """The value of bytes; SerialisationFailed with the record's place when the deserialiser refuses them."""
    if data is None:
        return None
    try:
        return deserializer(data)
    except Exception as error:
        raise SerialisationFailed(f"{place} cannot be deserialised: {error}") from error
