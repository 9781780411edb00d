"""``offsets.journal``: the changes since the offset checkpoints were last written (docs/adr/0006).

A FixedRecordLog: equal slots of uint32 CRC32C, then 16 bytes topic id, int32 partition, int8 kind, int64
offset. The kinds are 0 recovery point, 1 log start offset, 2 compacted to, 3 first dirty offset. The end may
be torn: that loses work, never records.
"""

import os
import struct
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from crc32c import crc32c

from distributedlog.log.inspect_events import Finding, FindingKind, JournalEntry, Severity

SLOT: Final = struct.Struct(">I16sibq")
CRC_SIZE: Final = 4
SLOTS_IN_CHUNK: Final = 4096
KINDS: Final = ("recovery point", "log start offset", "compacted to", "first dirty offset")
COMPACTION_KINDS: Final = KINDS[2:]


def read_offset_journal(path: Path) -> Iterator[JournalEntry | Finding]:
    """The slots up to the first whose CRC is wrong; what stands behind it counts for nothing."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        position = 0
        while chunk := file.read(SLOT.size * SLOTS_IN_CHUNK):
            for start in range(0, len(chunk) - len(chunk) % SLOT.size, SLOT.size):
                crc, topic_id, partition, kind, offset = SLOT.unpack_from(chunk, start)
                if crc32c(chunk[start + CRC_SIZE : start + SLOT.size]) != crc:
                    yield Finding(
                        path,
                        position + start,
                        FindingKind.BAD_CRC,
                        f"wrong CRC; {size - position - start} bytes from here on count for nothing",
                    )
                    return
                name = KINDS[kind] if 0 <= kind < len(KINDS) else f"kind {kind}"
                text = urlsafe_b64encode(topic_id).rstrip(b"=").decode()
                yield JournalEntry(path, position + start, text, partition, name, offset)
            position += len(chunk)
    if size % SLOT.size:
        yield Finding(
            path,
            size - size % SLOT.size,
            FindingKind.TORN_TAIL,
            f"{size % SLOT.size} bytes are no whole slot of {SLOT.size}; they will be overwritten",
            Severity.NOTE,
        )
