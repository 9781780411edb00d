"""[pure] From bytes of input to records to write: lines, lines of JSON, or whole files."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from distributedlog.cli.json_lines import bytes_of_json

LINE_SIZE_MAX: Final = 64 * 1024 * 1024
INT64_MAX: Final = 2**63 - 1
_JSON_FIELDS: Final = frozenset({"topic", "partition", "offset", "timestamp", "key", "value", "headers"})

Headers = tuple[tuple[str, bytes | None], ...]


class InvalidInput(Exception):
    """A record cannot be made of the input; the text says why, the caller says where."""


@dataclass(frozen=True, slots=True)
class InputRecord:
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class LineFormat:
    """What all records share, and how a line gives the rest."""

    key: bytes | None = None
    key_separator: bytes | None = None
    headers: Headers = ()
    null: bytes | None = None
    partition: int | None = None


class LineSplitter:
    """Chunks in, lines out, without their ends. What follows the last line end comes out of `rest`."""

    __slots__ = ("_partial",)

    def __init__(self) -> None:
        self._partial: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        first, *others = chunk.split(b"\n")
        self._partial.append(first)
        if not others:
            if sum(map(len, self._partial)) > LINE_SIZE_MAX:
                raise InvalidInput(f"the line is longer than {LINE_SIZE_MAX:,} bytes")
            return []
        lines = [b"".join(self._partial), *others]
        self._partial = [lines.pop()]
        return lines

    def rest(self) -> list[bytes]:
        """The last line, when the file does not end with a line end."""
        last = b"".join(self._partial)
        self._partial = []
        return [last] if last else []


def record_of_line(line: bytes, form: LineFormat) -> InputRecord:
    """A line of text."""
    key, value = form.key, line
    if form.key_separator is not None:
        before, separator, value = line.partition(form.key_separator)
        if not separator:
            separator_text = form.key_separator.decode(errors="backslashreplace")
            raise InvalidInput(f"the line does not hold the key separator '{separator_text}'")
        key = before
    is_null = form.null is not None and value == form.null
    return InputRecord(None if is_null else value, key, form.headers, None, form.partition)


def records_of_json_line(line: bytes, form: LineFormat) -> Iterator[InputRecord]:
    """A line of JSON; a blank one is none. What the command line gives holds where the line says nothing.

    Topic, partition and offset, which `dlog consume` prints, say where a record was: here they are ignored.
    """
    if not line.strip():
        return
    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"the line is not JSON: {error.msg}, at its column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the line is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise InvalidInput("the line is JSON, but no object")
    unknown = content.keys() - _JSON_FIELDS
    if unknown:
        known = ", ".join(sorted(_JSON_FIELDS))
        raise InvalidInput(f"a record has no {sorted(unknown)[0]!r}; it may have {known}")
    if "value" not in content:
        raise InvalidInput('the record has no "value"; a deletion has the value null')
    try:
        yield InputRecord(
            bytes_of_json(content["value"]),
            bytes_of_json(content["key"]) if "key" in content else form.key,
            _headers(content["headers"]) if "headers" in content else form.headers,
            _timestamp(content.get("timestamp")),
            form.partition,
        )
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{error.object[error.start]!a} alone is no character") from None
    except ValueError as error:
        raise InvalidInput(str(error)) from None


def _headers(content: object) -> Headers:
    """An object, or a list of pairs where a name comes twice."""
    pairs = list(content.items()) if isinstance(content, dict) else content
    if not isinstance(pairs, list):
        raise ValueError("headers must be an object or a list of [name, value] pairs")
    headers = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError("each header must be a [name, value] pair")
        headers.append((pair[0], bytes_of_json(pair[1])))
    return tuple(headers)


def _timestamp(content: object) -> int | None:
    if content is None:
        return None
    if isinstance(content, bool) or not isinstance(content, int) or not 0 <= content <= INT64_MAX:
        raise ValueError(f"timestamp must be milliseconds since 1970, but it is {json.dumps(content)}")
    return content
