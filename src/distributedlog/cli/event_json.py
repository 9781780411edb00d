"""Inspection events as JSON: one object a line, its ``event`` first, names as in the file formats."""

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Final

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
    TimeIndexEntry,
)
from distributedlog.records import Record

EVENT_NAMES: Final[dict[type[Event], str]] = {
    Finding: "finding",
    FileSeen: "file",
    BatchSeen: "batch",
    RecordSeen: "record",
    OffsetIndexEntry: "offset_index_entry",
    TimeIndexEntry: "time_index_entry",
    AbortedTransactionEntry: "aborted_transaction",
    ProducerEntry: "producer",
    LeaderEpochEntry: "leader_epoch",
    CheckpointEntry: "checkpoint",
    JournalEntry: "offset_change",
    Property: "property",
    PartitionSummary: "summary",
}


def event_line(event: Event) -> str:
    """Bytes that are UTF-8 stand as text, others as ``{"base64": …}``; file names likewise are escaped."""
    content: dict[str, object] = {"event": EVENT_NAMES[type(event)]}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name == "header":
            content.update((part.name, getattr(value, part.name)) for part in fields(value))
            content["last_offset"] = value.last_offset
        elif field.name == "record":
            content.update(_record_content(value))
        elif isinstance(value, Path):
            content["path"] = os.fspath(value)
        else:
            content[field.name] = value
    return json.dumps(content)


def _record_content(record: Record) -> dict[str, object]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _bytes_content(record.key),
        "value": _bytes_content(record.value),
        "headers": [[name, _bytes_content(value)] for name, value in record.headers],
    }


def _bytes_content(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        import base64

        return {"base64": base64.b64encode(data).decode()}
