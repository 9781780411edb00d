"""Producer-state snapshots: ``<offset>.snapshot``, the producers known when the log ended at that offset.

int16 version = 1, uint32 CRC32C of everything behind it, int32 number of entries, and per entry
int64 producer id, int16 epoch, int32 last sequence, int64 last offset, int32 offset delta,
int64 timestamp, int32 coordinator epoch, int64 first offset of the open transaction or -1
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from crc32c import crc32c

from distributedlog.log.inspect_events import Finding, FindingKind, ProducerEntry

HEADER: Final = struct.Struct(">hIi")
CRC_START: Final = 6
ENTRY: Final = struct.Struct(">qhiqiqiq")
VERSION: Final = 1
ENTRIES_IN_CHUNK: Final = 4096
PRODUCERS_COMPARED_MAX: Final = 1_000_000


def read_producer_snapshot(path: Path, snapshot_offset: int | None) -> Iterator[ProducerEntry | Finding]:
    """The entries as they stand there; whether the CRC was right is known only behind the last one."""

    def finding(position: int, message: str) -> Finding:
        return Finding(path, position, FindingKind.SNAPSHOT, message)

    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEADER.size)
        if len(head) < HEADER.size:
            yield finding(0, f"{len(head)} bytes are too few for a snapshot, whose header has {HEADER.size}")
            return
        version, expected_crc, count = HEADER.unpack(head)
        if version != VERSION:
            yield finding(0, f"version {version} is not known; only {VERSION} is")
            return
        if count * ENTRY.size != size - HEADER.size:
            yield finding(
                CRC_START,
                f"{count} entries of {ENTRY.size} bytes were promised, {size - HEADER.size} bytes follow",
            )
        crc = crc32c(head[CRC_START:])
        position = HEADER.size
        producer_ids = set[int]()
        while chunk := file.read(ENTRY.size * ENTRIES_IN_CHUNK):
            crc = crc32c(chunk, crc)
            for start in range(0, len(chunk) - len(chunk) % ENTRY.size, ENTRY.size):
                entry = ProducerEntry(path, position + start, *ENTRY.unpack_from(chunk, start))
                yield entry
                if entry.producer_id in producer_ids:
                    yield finding(entry.position, f"producer {entry.producer_id} stands there twice")
                if len(producer_ids) < PRODUCERS_COMPARED_MAX:
                    producer_ids.add(entry.producer_id)
                if snapshot_offset is not None:
                    for name in ("last_offset", "current_txn_first_offset"):
                        if getattr(entry, name) >= snapshot_offset:
                            yield finding(
                                entry.position,
                                f"producer {entry.producer_id} has {name} {getattr(entry, name)}, "
                                f"but the snapshot was taken at offset {snapshot_offset}",
                            )
            position += len(chunk)
    if crc != expected_crc:
        yield finding(2, f"wrong CRC: {expected_crc:#010x} is written there, {crc:#010x} is right")
