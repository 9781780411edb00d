"""Chunks of input in, records out; knows file and line for whoever has to complain."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Final

from distributedlog.cli.cluster_work import CommandFailed
from distributedlog.cli.input_chunks import STANDARD_INPUT
from distributedlog.cli.input_records import (
    InputRecord,
    InvalidInput,
    LineFormat,
    LineSplitter,
    record_of_line,
    records_of_json_line,
)

WHOLE_FILE_SIZE_MAX: Final = 1024 * 1024 * 1024


class RecordReader:
    """`names` are those of the files whose numbers come with the chunks."""

    def __init__(self, arguments: argparse.Namespace, names: Sequence[str]) -> None:
        self._names = names
        self._kind = arguments.input or ("json" if arguments.json else "lines")
        self._form = line_format(arguments)
        self._splitter = LineSplitter()
        self._whole: list[bytes] = []
        self._whole_size = 0
        self._file = 0
        self._line = 0

    @property
    def place(self) -> str:
        """Where the record comes from that was handed out last."""
        name = self._names[self._file]
        name = "standard input" if name == STANDARD_INPUT else name
        return f"{name}, line {self._line}" if self._line else name

    def records(self, number: int, chunk: bytes) -> Iterable[InputRecord]:
        """The records that are complete with this chunk; an empty one ends the file."""
        if number != self._file:
            self._file, self._line = number, 0
        try:
            if self._kind == "file":
                yield from self._whole_file(chunk)
            else:
                yield from self._lines(chunk)
        except InvalidInput as error:
            raise CommandFailed(f"{self.place}: {error}") from None

    def _lines(self, chunk: bytes) -> Iterable[InputRecord]:
        self._line += 1
        lines = self._splitter.feed(chunk) if chunk else self._splitter.rest()
        self._line -= 1
        for line in lines:
            self._line += 1
            if self._kind == "json":
                yield from records_of_json_line(line, self._form)
            else:
                yield record_of_line(line, self._form)

    def _whole_file(self, chunk: bytes) -> Iterable[InputRecord]:
        self._whole.append(chunk)
        self._whole_size += len(chunk)
        if self._whole_size > WHOLE_FILE_SIZE_MAX:
            raise InvalidInput("the file is too large for one record")
        if not chunk:
            form = self._form
            yield InputRecord(b"".join(self._whole), form.key, form.headers, None, form.partition)
            self._whole, self._whole_size = [], 0


def line_format(arguments: argparse.Namespace) -> LineFormat:
    return LineFormat(
        key=_bytes(arguments.key),
        key_separator=_bytes(arguments.key_separator) or None,
        headers=tuple((name, value.encode("utf-8", "surrogateescape")) for name, value in arguments.header),
        null=_bytes(arguments.null),
        partition=arguments.partition,
    )


def _bytes(text: str | None) -> bytes | None:
    """As it stood on the command line, whatever its encoding."""
    return None if text is None else text.encode("utf-8", "surrogateescape")
