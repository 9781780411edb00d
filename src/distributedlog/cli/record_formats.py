"""How `dlog consume` prints a record."""

import sys
from collections.abc import Callable
from typing import Final

from distributedlog.cli.json_lines import json_of_bytes, json_text
from distributedlog.cli.terminal import shown_bytes, shown_time
from distributedlog.client import TopicPartition
from distributedlog.records import Record

TEMPLATE_FIELDS: Final = frozenset(
    {"topic", "partition", "offset", "timestamp", "time", "key", "value", "headers"}
)
NULL: Final = b"null"

RecordFormat = Callable[[TopicPartition, Record], bytes]


class InvalidTemplate(ValueError):
    """The template names what a record does not have."""


def record_format(name: str, template: str | None) -> RecordFormat:
    """The function that makes a record's line, with its line end.

    Into a pipe go the bytes as they are; on a terminal nothing in them may steer it.
    """
    if name == "json":
        return json_line
    as_bytes = printable if sys.stdout.isatty() else raw
    if template is not None:
        return templated(template, as_bytes)
    if name == "full":
        return full_line
    if name == "keyed":
        return lambda _, record: as_bytes(record.key) + b"\t" + as_bytes(record.value) + b"\n"
    return lambda _, record: as_bytes(record.value) + b"\n"


def raw(data: bytes | None) -> bytes:
    return NULL if data is None else data


def printable(data: bytes | None) -> bytes:
    return shown_bytes(data).encode("utf-8", "backslashreplace")


def json_line(partition: TopicPartition, record: Record) -> bytes:
    content = {
        "topic": partition.topic,
        "partition": partition.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": json_of_bytes(record.key),
        "value": json_of_bytes(record.value),
        "headers": [[name, json_of_bytes(value)] for name, value in record.headers],
    }
    return json_text(content).encode() + b"\n"


def full_line(partition: TopicPartition, record: Record) -> bytes:
    """``orders-0 @ 17  2026-01-31 12:00:00.000  key → value  {name=value}``."""
    parts = [
        f"{partition} @ {record.offset}",
        shown_time(record.timestamp),
        f"{shown_bytes(record.key)} → {shown_bytes(record.value)}",
    ]
    if record.headers:
        parts.append("{" + shown_headers(record) + "}")
    return "  ".join(parts).encode("utf-8", "backslashreplace") + b"\n"


def shown_headers(record: Record) -> str:
    return ", ".join(f"{shown_bytes(name.encode())}={shown_bytes(value)}" for name, value in record.headers)


def templated(template: str, as_bytes: Callable[[bytes | None], bytes]) -> RecordFormat:
    r"""Fields in braces, ``\n`` and ``\t``; a line ends only where the template says so or ends itself."""
    text = template.replace("\\n", "\n").replace("\\t", "\t")
    if not text.endswith("\n"):
        text += "\n"

    def line(partition: TopicPartition, record: Record) -> bytes:
        filled = text.format_map(
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "offset": record.offset,
                "timestamp": record.timestamp,
                "time": shown_time(record.timestamp),
                "key": as_bytes(record.key).decode("utf-8", "surrogateescape"),
                "value": as_bytes(record.value).decode("utf-8", "surrogateescape"),
                "headers": shown_headers(record),
            }
        )
        return filled.encode("utf-8", "surrogateescape")

    try:
        line(TopicPartition("", 0), Record(0, 0, b"", b""))
    except (LookupError, ValueError, AttributeError, TypeError):
        fields = " ".join(f"{{{name}}}" for name in sorted(TEMPLATE_FIELDS))
        raise InvalidTemplate(f"the template {template!r} cannot be used: it may hold {fields}") from None
    return line
