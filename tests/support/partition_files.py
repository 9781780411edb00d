"""A partition's directory written by hand, from the published formats and nothing of ours but batches.

The log's own writer is not used, so that what reads directories is tested apart from what writes them.
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path

from crc32c import crc32c

from distributedlog.records import BatchBuilder, Compression, parse_header

INDEX_INTERVAL = 4096
TOPIC_ID = "x7GqUAPDQjy6Hm2ZqX_o8g"


def batch(base_offset, values, *, timestamp=1_700_000_000_000, leader_epoch=0, **options):
    """A batch whose records have those values, a millisecond apart, with keys and a header."""
    builder = BatchBuilder(options.pop("compression", Compression.NONE), **options)
    for number, value in enumerate(values):
        builder.append(timestamp + number, b"key-%d" % (base_offset + number), value, [("h", b"1")])
    return bytes(builder.build(base_offset, leader_epoch))


def marker(offset, producer_id, control_type, *, leader_epoch=0, timestamp=1_700_000_000_000):
    """The control batch that ends a transaction: type 0 aborts, 1 commits."""
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, is_transactional=True, is_control=True)
    builder.append(timestamp, struct.pack(">hh", 0, control_type), struct.pack(">hi", 0, 0))
    return bytes(builder.build(offset, leader_epoch))


@dataclass
class Segment:
    """What one segment's files will hold. The indexes follow from the batches unless they are given."""

    batches: list[bytes]
    aborted: list[tuple[int, int, int, int]] = field(default_factory=list)


def write_segment(directory, segment, base_offset=None):
    headers = [parse_header(data) for data in segment.batches]
    base_offset = headers[0].base_offset if base_offset is None else base_offset
    stem = directory / f"{base_offset:020}"
    stem.with_suffix(".log").write_bytes(b"".join(segment.batches))
    index, time_index = bytearray(), bytearray()
    position, since_entry, timestamp_max, timestamp_offset, timestamp_written = 0, 0, -1, 0, -1
    for header in headers:
        if header.max_timestamp > timestamp_max:
            timestamp_max, timestamp_offset = header.max_timestamp, header.last_offset
        if since_entry > INDEX_INTERVAL:
            index += struct.pack(">ii", header.last_offset - base_offset, position)
            if timestamp_max > timestamp_written:
                time_index += struct.pack(">qi", timestamp_max, timestamp_offset - base_offset)
                timestamp_written = timestamp_max
            since_entry = 0
        since_entry += header.size
        position += header.size
    if timestamp_max > timestamp_written:
        time_index += struct.pack(">qi", timestamp_max, timestamp_offset - base_offset)
    stem.with_suffix(".index").write_bytes(index)
    stem.with_suffix(".timeindex").write_bytes(time_index)
    if segment.aborted:
        stem.with_suffix(".txnindex").write_bytes(
            b"".join(struct.pack(">hqqqq", 0, *fields) for fields in segment.aborted)
        )
    return stem.with_suffix(".log")


def snapshot_bytes(entries):
    """Entries in the order of the format: producer id, epoch, last sequence, last offset, and so on."""
    content = struct.pack(">i", len(entries)) + b"".join(
        struct.pack(">qhiqiqiq", *entry) for entry in entries
    )
    return struct.pack(">hI", 1, crc32c(content)) + content


def write_partition(directory: Path, segments, *, leader_epochs=((0, 0),), snapshots=None):
    """The directory with its segments, and what Kafka keeps beside them."""
    directory.mkdir(parents=True, exist_ok=True)
    for segment in segments:
        write_segment(directory, segment)
    (directory / "leader-epoch-checkpoint").write_text(
        f"0\n{len(leader_epochs)}\n" + "".join(f"{epoch} {start}\n" for epoch, start in leader_epochs)
    )
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
    for offset, entries in (snapshots or {}).items():
        (directory / f"{offset:020}.snapshot").write_bytes(snapshot_bytes(entries))
    return directory


def sample_batch(base):
    """The ten records from offset ``base`` (0 to 190) on, their codec each time another."""
    return batch(
        base,
        [bytes([97 + base // 10]) * 900] * 10,
        timestamp=1_700_000_000_000 + 1000 * base,
        leader_epoch=0 if base < 150 else 3,
        compression=Compression(base // 10 % 5),
    )


def sample_partition(directory: Path):
    """Three segments, all codecs, a committed and an aborted transaction, two leader epochs.

    Offsets 0-99, 100-199 and 200-228; the aborted transaction is 205-214 with its marker at 215.
    """
    segments = [Segment([]), Segment([]), Segment([])]
    for base in range(0, 200, 10):
        segments[base // 100].batches.append(sample_batch(base))
    late = 1_700_000_900_000
    transactional = {"producer_epoch": 0, "is_transactional": True, "leader_epoch": 3, "timestamp": late}
    segments[2].batches += [
        batch(200, [b"a"] * 5, producer_id=7, base_sequence=0, **transactional),
        batch(205, [b"b"] * 10, producer_id=9, base_sequence=0, **transactional),
        marker(215, 9, 0, leader_epoch=3, timestamp=late + 50),
        marker(216, 7, 1, leader_epoch=3, timestamp=late + 60),
        batch(217, [b"", None, b"c" * 5000] * 4, leader_epoch=3, timestamp=late + 100),
    ]
    segments[2].aborted.append((9, 205, 215, 200))
    producers = [
        (7, 0, 4, 204, 4, late + 4, 0, -1),
        (9, 0, 9, 214, 9, late + 9, 0, -1),
    ]
    return write_partition(
        directory, segments, leader_epochs=((0, 0), (3, 150)), snapshots={200: [], 229: producers}
    )
