"""`dlog produce`."""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Final

from distributedlog.cli.cluster_work import CommandFailed, run_work
from distributedlog.cli.input_chunks import STANDARD_INPUT, InputChunks
from distributedlog.cli.input_records import (
    InputRecord,
    InvalidInput,
    LineFormat,
    LineSplitter,
    record_of_line,
    records_of_json_line,
)
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.progress import ProgressBar
from distributedlog.cli.terminal import shown, shown_size
from distributedlog.client import ClientError, ClusterClient
from distributedlog.client.sender import SenderSettings, TopicSender
from distributedlog.records import Compression, InvalidRecordError

ACKS: Final = {"all": -1, "1": 1, "0": 0}
WHOLE_FILE_SIZE_MAX: Final = 1024 * 1024 * 1024


def produce(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        settings = SenderSettings(
            acks=ACKS[arguments.acks],
            compression=Compression[arguments.compression.upper()],
            batch_size=arguments.batch_size,
            may_create_topic=True,
        )
        sender = TopicSender(client, arguments.topic, settings)
        began = time.monotonic()
        chunks = InputChunks(arguments.files or [STANDARD_INPUT])
        is_watched = STANDARD_INPUT not in chunks.names or not sys.stdin.isatty()
        with ProgressBar("Writing", chunks.size, is_watched and not arguments.quiet) as bar:
            try:
                async with sender:
                    check_partition(arguments, sender)
                    await send_all(arguments, chunks, sender, bar)
            except (ClientError, CommandFailed) as error:
                if not sender.acknowledged_records:
                    raise
                raise CommandFailed(
                    f"{error}; {sender.acknowledged_records:,} records had been written before that"
                ) from error
        report(arguments, sender, time.monotonic() - began)
        return 0

    return run_work(arguments, work)


async def send_all(
    arguments: argparse.Namespace, chunks: InputChunks, sender: TopicSender, bar: ProgressBar
) -> None:
    """All input to the sender; what stands in a chunk is sent when nothing more has come meanwhile."""
    reader = RecordReader(arguments, chunks.names)
    taken = 0
    async for number, chunk in chunks:
        for record in reader.records(number, chunk):
            try:
                await sender.send(
                    record.value, record.key, record.headers, record.timestamp, record.partition
                )
            except InvalidRecordError as error:
                raise CommandFailed(f"{reader.place}: {error}") from None
        taken += len(chunk)
        bar.update(taken, sender.acknowledged_records, sender.acknowledged_bytes)
        if chunks.is_waiting:
            sender.hurry()


class RecordReader:
    """Chunks of input in, records out; knows file and line for whoever has to complain."""

    def __init__(self, arguments: argparse.Namespace, names: Sequence[str]) -> None:
        self._names = names
        self._kind = arguments.input or ("json" if arguments.json else "lines")
        self._form = line_format(arguments)
        self._splitter = LineSplitter()
        self._whole: list[bytes] = []
        self._file = 0
        self._line = 0

    @property
    def place(self) -> str:
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
                return
            if chunk and b"\n" not in chunk:
                self._line += 1
                self._splitter.feed(chunk)
                self._line -= 1
                return
            for line in self._splitter.feed(chunk) if chunk else self._splitter.rest():
                self._line += 1
                if self._kind == "json":
                    yield from records_of_json_line(line, self._form)
                else:
                    yield record_of_line(line, self._form)
        except InvalidInput as error:
            raise CommandFailed(f"{self.place}: {error}") from None

    def _whole_file(self, chunk: bytes) -> Iterable[InputRecord]:
        self._whole.append(chunk)
        if sum(map(len, self._whole)) > WHOLE_FILE_SIZE_MAX:
            raise InvalidInput("the file is too large for one record")
        if not chunk:
            form = self._form
            yield InputRecord(b"".join(self._whole), form.key, form.headers, None, form.partition)
            self._whole = []


def line_format(arguments: argparse.Namespace) -> LineFormat:
    return LineFormat(
        key=_bytes(arguments.key),
        key_separator=_bytes(arguments.key_separator) or None,
        headers=tuple((name, value.encode("utf-8", "surrogateescape")) for name, value in arguments.header),
        null=_bytes(arguments.null),
        partition=arguments.partition,
    )


def check_partition(arguments: argparse.Namespace, sender: TopicSender) -> None:
    if arguments.partition is not None and not 0 <= arguments.partition < sender.partition_count:
        raise CommandFailed(
            f"topic {arguments.topic} has no partition {arguments.partition}, "
            f"only 0 to {sender.partition_count - 1}"
        )


def report(arguments: argparse.Namespace, sender: TopicSender, seconds: float) -> None:
    records, size = sender.acknowledged_records, sender.acknowledged_bytes
    if arguments.quiet:
        return
    if arguments.json:
        print_json(topic=arguments.topic, records=records, bytes=size, seconds=round(seconds, 3))
        return
    what = "1 record" if records == 1 else f"{records:,} records"
    print(f"Wrote {what}, {shown_size(size)}, to {shown(arguments.topic)} in {seconds:.2f} s.")


def _bytes(text: str | None) -> bytes | None:
    """As it stood on the command line, whatever its encoding."""
    return None if text is None else text.encode("utf-8", "surrogateescape")
