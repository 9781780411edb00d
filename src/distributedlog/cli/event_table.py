"""Inspection events for people: a table for each run of like events, in blocks of bounded size."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from distributedlog.log.inspect_events import (
    AbortedTransactionEntry,
    BatchSeen,
    CheckpointEntry,
    Event,
    FileSeen,
    Finding,
    JournalEntry,
    LeaderEpochEntry,
    OffsetIndexEntry,
    PartitionSummary,
    ProducerEntry,
    Property,
    RecordSeen,
    Severity,
    TimeIndexEntry,
)
from distributedlog.records import BatchHeader

ROWS_IN_BLOCK: Final = 256
CONTENT_WIDTH_MAX: Final = 48
HEADERS_SHOWN_MAX: Final = 16
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


def new_console() -> Console:
    """Breaks no line: a path that was broken in two can be neither copied nor searched for."""
    return Console(markup=False, highlight=False, emoji=False, soft_wrap=True)


def shown(text: str) -> str:
    """Names come from outside: nothing in them may steer the terminal or fail to be printed."""
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode()


def shown_path(path: Path) -> str:
    return shown(os.fsencode(path).decode(errors="backslashreplace"))


def shown_bytes(data: bytes | None) -> str:
    if data is None:
        return "null"
    text = data[: CONTENT_WIDTH_MAX * 2].decode(errors="backslashreplace")
    text = shown(text)
    return text if len(text) <= CONTENT_WIDTH_MAX else text[: CONTENT_WIDTH_MAX - 1] + "…"


def shown_time(timestamp_ms: int) -> str:
    try:
        moment = EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return str(timestamp_ms)
    return "none" if timestamp_ms == -1 else moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _batch_flags(header: BatchHeader) -> str:
    codec = header.attributes & 7
    flags = [CODECS[codec] if codec < len(CODECS) else f"codec {codec}?"]
    flags += ["transactional"] if header.is_transactional else []
    flags += ["control"] if header.is_control else []
    flags += ["append time"] if header.timestamp_type else []
    return ", ".join(flags)


def _batch_row(event: BatchSeen) -> Sequence[object]:
    header = event.header
    return (
        event.position,
        header.size,
        header.base_offset,
        header.last_offset,
        header.records_count,
        shown_time(header.max_timestamp),
        header.partition_leader_epoch,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        _batch_flags(header),
        "right" if event.crc_is_right else "WRONG",
    )


def _record_row(event: RecordSeen) -> Sequence[object]:
    record = event.record
    if event.control is not None:
        return record.offset, shown_time(record.timestamp), f"marker: {event.control}", "", ""
    headers = ", ".join(
        f"{shown(name)}={shown_bytes(value)}" for name, value in record.headers[:HEADERS_SHOWN_MAX]
    )
    if len(headers) > CONTENT_WIDTH_MAX or len(record.headers) > HEADERS_SHOWN_MAX:
        headers = headers[: CONTENT_WIDTH_MAX - 1] + "…"
    return (
        record.offset,
        shown_time(record.timestamp),
        shown_bytes(record.key),
        shown_bytes(record.value),
        headers,
    )


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one kind of event: names with a trailing > are right-aligned."""

    columns: tuple[str, ...]
    row: Callable[[Any], Sequence[object]]
    indent: int = 2


LAYOUTS: Final[dict[type[Event], Layout]] = {
    BatchSeen: Layout(
        (
            "position>",
            "bytes>",
            "first>",
            "last>",
            "records>",
            "max timestamp",
            "epoch>",
            "producer>",
            "p. epoch>",
            "sequence>",
            "kind",
            "crc",
        ),
        _batch_row,
    ),
    RecordSeen: Layout(("offset>", "timestamp", "key", "value", "headers"), _record_row, 6),
    OffsetIndexEntry: Layout(
        ("entry at>", "offset>", "log position>"), lambda e: (e.position, e.offset, e.log_position)
    ),
    TimeIndexEntry: Layout(
        ("entry at>", "timestamp>", "time", "offset>"),
        lambda e: (e.position, e.timestamp, shown_time(e.timestamp), e.offset),
    ),
    AbortedTransactionEntry: Layout(
        ("entry at>", "producer>", "first>", "last>", "last stable>"),
        lambda e: (e.position, e.producer_id, e.first_offset, e.last_offset, e.last_stable_offset),
    ),
    ProducerEntry: Layout(
        (
            "producer>",
            "epoch>",
            "sequence>",
            "last offset>",
            "delta>",
            "timestamp",
            "coordinator>",
            "open from>",
        ),
        lambda e: (
            e.producer_id,
            e.producer_epoch,
            e.last_sequence,
            e.last_offset,
            e.offset_delta,
            shown_time(e.timestamp),
            e.coordinator_epoch,
            e.current_txn_first_offset,
        ),
    ),
    LeaderEpochEntry: Layout(("epoch>", "from offset>"), lambda e: (e.epoch, e.start_offset)),
    CheckpointEntry: Layout(
        ("topic", "partition>", "offset>"), lambda e: (shown(e.topic), e.partition, e.offset)
    ),
    JournalEntry: Layout(
        ("entry at>", "topic id", "partition>", "of", "offset>"),
        lambda e: (e.position, e.topic_id, e.partition, e.kind, e.offset),
    ),
    Property: Layout(("name", "value"), lambda e: (shown(e.name), shown(e.value))),
}


class TablePrinter:
    """Takes events one by one. Rows wait until their block is full or something else comes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._kind: type[Event] | None = None
        self._rows: list[list[str]] = []
        self._widths: list[int] = []

    def print(self, event: Event) -> None:
        kind = type(event)
        layout = LAYOUTS.get(kind)
        if kind is not self._kind or len(self._rows) >= ROWS_IN_BLOCK:
            self.flush()
            if kind is not self._kind and layout:
                self._widths = []
            self._kind = kind
        if layout:
            self._rows.append([str(cell) for cell in layout.row(event)])
        elif isinstance(event, Finding):
            self._console.print(finding_text(event))
        elif isinstance(event, FileSeen):
            self._console.print()
            self._console.print(
                Text.assemble((shown_path(event.path), "bold"), f"  {event.kind}, {event.size:,} bytes")
            )
        elif isinstance(event, PartitionSummary):
            self._console.print()
            self._console.print(summary_text(event))

    def flush(self) -> None:
        if not self._rows or self._kind is None:
            return
        layout = LAYOUTS[self._kind]
        titles = [name.rstrip(">") for name in layout.columns]
        is_first_block = not self._widths
        widths = self._widths or [len(title) for title in titles]
        self._widths = [
            max(width, *(cell_len(row[column]) for row in self._rows)) for column, width in enumerate(widths)
        ]
        if is_first_block:
            self._console.print(Text(self._line(layout, titles), "dim"))
        # Lines of known width are put together here: rich's Table takes half a millisecond for a row.
        self._console.file.writelines(self._line(layout, row) + "\n" for row in self._rows)
        self._rows = []

    def _line(self, layout: Layout, cells: list[str]) -> str:
        parts = [" " * (layout.indent - 2)]
        for name, cell, width in zip(layout.columns, cells, self._widths, strict=True):
            missing = " " * (width - cell_len(cell))
            parts.append(missing + cell if name.endswith(">") else cell + missing)
        return "  ".join(parts).rstrip()


def finding_text(finding: Finding) -> Text:
    is_damage = finding.severity is Severity.DAMAGE
    place = shown_path(finding.path) + ("" if finding.position is None else f":{finding.position}")
    return Text.assemble(
        (f"{finding.severity.upper()} ", "bold red" if is_damage else "yellow"),
        f"{place}: ",
        (f"{finding.kind}: ", "bold"),
        shown(finding.message),
    )


def summary_text(summary: PartitionSummary) -> Text:
    where = "no records"
    if summary.log_start_offset is not None:
        where = f"offsets {summary.log_start_offset:,} to {summary.log_end_offset - 1:,}"
    return Text.assemble(
        (shown_path(summary.path), "bold"),
        f": {_counted(summary.segments, 'segment')}, {_counted(summary.batches, 'batch', 'batches')}, "
        f"{_counted(summary.records, 'record')}, {where}, {summary.size:,} bytes",
    )


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
