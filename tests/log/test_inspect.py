"""The inspection of log directories: silent about sound ones, exact about each damage, never raising."""

import os
import random
import shutil
import struct
import tracemalloc

import pytest
from crc32c import crc32c

from distributedlog.log.inspect import NothingToInspect, inspect
from distributedlog.log.inspect_events import (
    AbortedTransactionEntry,
    BatchSeen,
    CheckpointEntry,
    Finding,
    FindingKind,
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
from distributedlog.records import parse_header
from partition_files import (
    Segment,
    batch,
    marker,
    sample_batch,
    sample_partition,
    snapshot_bytes,
    write_partition,
    write_segment,
)

SECOND = sum(len(sample_batch(base)) for base in range(0, 60, 10))
"""Where the second entry of segment 0's index leads: the batch of offsets 60 to 69."""


@pytest.fixture
def partition(tmp_path):
    return sample_partition(tmp_path / "data" / "topic-0")


def findings(path, severity=Severity.DAMAGE, **options):
    return [
        event
        for event in inspect(path, **options)
        if isinstance(event, Finding) and event.severity is severity
    ]


def kinds(path, **options):
    return {finding.kind for finding in findings(path, **options)}


def only_finding(path, severity=Severity.DAMAGE, **options):
    (finding,) = findings(path, severity, **options)
    return finding


def change(path, position, data):
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(data)


def segment_file(partition, base_offset, suffix="log"):
    return partition / f"{base_offset:020}.{suffix}"


def test_a_sound_partition_has_no_findings(partition):
    assert [event for event in inspect(partition, with_records=True) if isinstance(event, Finding)] == []


def test_everything_in_the_directory_is_yielded(partition):
    events = list(inspect(partition, with_records=True))
    counts = {}
    for event in events:
        counts[type(event)] = counts.get(type(event), 0) + 1
    assert counts[BatchSeen] == 25
    assert counts[RecordSeen] == 229
    assert counts[OffsetIndexEntry] == 4
    assert counts[TimeIndexEntry] == 7
    assert counts[AbortedTransactionEntry] == 1
    assert counts[ProducerEntry] == 2
    assert counts[LeaderEpochEntry] == 2
    assert counts[Property] == 2
    summary = events[-1]
    assert isinstance(summary, PartitionSummary)
    assert (summary.segments, summary.batches, summary.records) == (3, 25, 229)
    assert (summary.log_start_offset, summary.log_end_offset) == (0, 229)


def test_records_come_with_keys_values_headers_and_markers_named(partition):
    records = [event for event in inspect(partition, with_records=True) if isinstance(event, RecordSeen)]
    assert [event.record.offset for event in records] == list(range(229))
    assert records[3].record[1:] == (1_700_000_000_003, b"key-3", b"a" * 900, (("h", b"1"),))
    assert [(event.record.offset, event.control) for event in records if event.control] == [
        (215, "abort"),
        (216, "commit"),
    ]


def test_without_records_only_batches_are_yielded(partition):
    assert not any(isinstance(event, RecordSeen) for event in inspect(partition))


# Damage in the log


def test_a_wrong_crc_is_found_and_the_walk_goes_on(partition):
    log = segment_file(partition, 0)
    change(log, 9241 + 100, b"\xff\xff")
    found = only_finding(partition)
    assert (found.path, found.position, found.kind) == (log, 9241, FindingKind.BAD_CRC)
    assert sum(isinstance(event, BatchSeen) for event in inspect(partition)) == 25


def test_a_wrong_length_hides_only_its_own_batch(partition):
    log = segment_file(partition, 0)
    change(log, 8, struct.pack(">i", 60))
    found = only_finding(log)
    assert (found.position, found.kind) == (0, FindingKind.BAD_CRC)
    assert "9241 bytes" in found.message
    assert sum(isinstance(event, BatchSeen) for event in inspect(log)) == 9


@pytest.mark.parametrize("length", [-1, 0, 2**31 - 1])
def test_an_impossible_length_hides_only_its_own_batch(partition, length):
    log = segment_file(partition, 0)
    change(log, 9241 + 8, struct.pack(">i", length))
    found = only_finding(log)
    assert (found.position, found.kind) == (9241, FindingKind.BAD_BATCH)
    assert sum(isinstance(event, BatchSeen) for event in inspect(log)) == 9


def test_a_partial_batch_at_the_end_is_a_torn_tail(partition):
    log = segment_file(partition, 200)
    os.truncate(log, 20848 - 1)
    found = findings(log)[0]
    assert (found.position, found.kind) == (563, FindingKind.TORN_TAIL)
    assert "20285 bytes, of which 20284 are there" in found.message


def test_a_partial_header_at_the_end_is_a_torn_tail(partition):
    log = segment_file(partition, 200)
    change(log, 20848, bytes(range(30)))
    assert only_finding(partition).kind is FindingKind.TORN_TAIL


def test_zeros_at_the_end_are_a_torn_tail_and_named(partition):
    log = segment_file(partition, 200)
    change(log, 20848, bytes(10_000))
    found = only_finding(partition)
    assert (found.position, found.kind) == (20848, FindingKind.TORN_TAIL)
    assert "zeros to the end" in found.message


def test_offsets_that_go_back_are_found(tmp_path):
    directory = write_partition(tmp_path / "t-0", [Segment([batch(5, [b"a"] * 3), batch(7, [b"b"])])])
    found = only_finding(directory)
    assert found.kind is FindingKind.OFFSET_ORDER
    assert "begins with offset 7; the batch before it ends in 7" in found.message


def test_a_batch_below_its_segments_name_is_found(tmp_path):
    directory = write_partition(tmp_path / "t-0", [])
    write_segment(directory, Segment([batch(5, [b"a"])]), base_offset=6)
    assert FindingKind.OFFSET_ORDER in kinds(directory)


def test_an_offset_too_far_for_the_index_is_found(tmp_path):
    directory = write_partition(tmp_path / "t-0", [])
    log = segment_file(directory, 0)
    log.write_bytes(batch(2**31, [b"a"]))
    assert only_finding(log).kind is FindingKind.OFFSET_ORDER


def test_impossible_counts_are_found_behind_a_right_crc(tmp_path):
    from distributedlog.records import write_crc

    data = bytearray(batch(0, [b"a"] * 3))
    struct.pack_into(">i", data, 57, 7)
    write_crc(data)
    directory = write_partition(tmp_path / "t-0", [Segment([bytes(data)])])
    assert only_finding(directory).kind is FindingKind.BAD_BATCH


def test_records_that_cannot_be_decoded_are_found_behind_a_right_crc(tmp_path):
    from distributedlog.records import write_crc

    data = bytearray(batch(0, [b"a"] * 3))
    data[61] ^= 0x40
    write_crc(data)
    directory = write_partition(tmp_path / "t-0", [Segment([bytes(data)])])
    assert findings(directory) == []
    assert only_finding(directory, with_records=True).kind is FindingKind.BAD_RECORDS


def test_a_wrong_leader_epoch_is_reported_once_for_a_run_of_batches(partition):
    (partition / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 130\n")
    found = only_finding(partition)
    assert found.kind is FindingKind.LEADER_EPOCH
    assert "offset 130 was written in leader epoch 0; leader-epoch-checkpoint says 3" in found.message


# Damage between segments


def test_overlapping_segments_are_found(partition):
    for suffix in ("log", "index", "timeindex"):
        segment_file(partition, 100, suffix).rename(segment_file(partition, 95, suffix))
    assert FindingKind.SEGMENT_OVERLAP in kinds(partition)


def test_a_missing_segment_is_found(partition):
    for suffix in ("log", "index", "timeindex"):
        segment_file(partition, 100, suffix).unlink()
    found = only_finding(partition)
    assert (found.path, found.kind) == (segment_file(partition, 200), FindingKind.SEGMENT_GAP)
    assert "offsets 100 to 199 are missing" in found.message


def test_a_gap_that_compaction_may_have_made_is_a_note(partition):
    for suffix in ("log", "index", "timeindex"):
        segment_file(partition, 100, suffix).unlink()
    (partition.parent / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 0 200\n")
    assert findings(partition.parent) == []
    assert findings(partition) == []
    assert only_finding(partition, Severity.NOTE).kind is FindingKind.SEGMENT_GAP


def test_a_name_beyond_63_bits_is_found(partition):
    segment_file(partition, 2**63 + 5).write_bytes(b"")
    assert only_finding(partition).kind is FindingKind.BAD_NAME


# Damage in the indexes


def test_an_index_without_its_log_is_found(partition):
    segment_file(partition, 50, "index").write_bytes(b"")
    assert only_finding(partition).kind is FindingKind.ORPHAN


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_a_missing_index_is_a_note(partition, suffix):
    segment_file(partition, 0, suffix).unlink()
    assert findings(partition) == []
    assert only_finding(partition, Severity.NOTE).kind is FindingKind.INDEX_MISSING


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex"])
def test_preallocated_zeros_behind_the_entries_are_sound(partition, suffix):
    path = segment_file(partition, 200, suffix)
    entry_size = {"index": 8, "timeindex": 12, "txnindex": 34}[suffix]
    change(path, path.stat().st_size, bytes(entry_size * 20_000))
    assert findings(partition) == []


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_a_partial_entry_is_found(partition, suffix):
    path = segment_file(partition, 0, suffix)
    change(path, path.stat().st_size, b"\1\2\3")
    found = only_finding(partition)
    assert (found.path, found.kind) == (path, FindingKind.INDEX_SIZE)


def test_zero_entries_in_the_middle_are_found(partition):
    path = segment_file(partition, 0, "index")
    entry = path.read_bytes()[8:]
    change(path, 8, bytes(80) + entry)
    assert FindingKind.INDEX_ORDER in kinds(partition)


@pytest.mark.parametrize(
    ("entry", "kind", "words"),
    [
        ((69, SECOND + 1), FindingKind.INDEX_TARGET, "in the middle of a batch"),
        ((69, 10**6), FindingKind.INDEX_TARGET, "beyond the end of the log"),
        ((55, SECOND), FindingKind.INDEX_TARGET, "a batch that begins with offset 60"),
        ((-4, SECOND), FindingKind.INDEX_TARGET, "negative"),
        ((10, SECOND), FindingKind.INDEX_ORDER, "does not come after"),
        ((69, 9241), FindingKind.INDEX_ORDER, "does not come after"),
        ((2000, SECOND), FindingKind.INDEX_TARGET, "the last one in the log is 99"),
    ],
)
def test_an_index_entry_that_leads_astray_is_found(partition, entry, kind, words):
    path = segment_file(partition, 0, "index")
    change(path, 8, struct.pack(">ii", *entry))
    found = only_finding(partition)
    assert (found.path, found.kind) == (path, kind)
    assert words in found.message


def test_an_inexact_index_entry_that_leads_well_is_a_note(partition):
    change(segment_file(partition, 0, "index"), 8, struct.pack(">ii", 65, SECOND))
    assert findings(partition) == []
    assert only_finding(partition, Severity.NOTE).kind is FindingKind.INDEX_TARGET


@pytest.mark.parametrize(
    ("entry", "kind", "words"),
    [
        ((1_700_000_060_010, 69), FindingKind.TIME_INDEX_MISMATCH, "it is only 1700000060009"),
        ((1_700_000_060_008, 69), FindingKind.TIME_INDEX_MISMATCH, "it is 1700000060009"),
        ((1_700_000_000_000, 69), FindingKind.INDEX_ORDER, "does not come after"),
        ((1_700_000_060_009, 5), FindingKind.INDEX_ORDER, "does not come after"),
        ((1_700_000_060_009, -5), FindingKind.INDEX_TARGET, "negative"),
    ],
)
def test_a_time_index_entry_that_is_not_so_is_found(partition, entry, kind, words):
    path = segment_file(partition, 0, "timeindex")
    change(path, 12, struct.pack(">qi", *entry))
    found = only_finding(partition)
    assert (found.path, found.position, found.kind) == (path, 12, kind)
    assert words in found.message


def test_a_time_index_entry_beyond_the_log_is_found(partition):
    path = segment_file(partition, 0, "timeindex")
    change(path, 36, struct.pack(">qi", 1_800_000_000_000, 500))
    assert only_finding(partition).kind is FindingKind.INDEX_TARGET


# Transactions


def test_an_aborted_transaction_that_is_not_in_the_index_is_found(partition):
    segment_file(partition, 200, "txnindex").unlink()
    found = only_finding(partition)
    assert found.kind is FindingKind.TRANSACTION_INDEX
    assert "producer 9, offsets 205 to 215, is not in the index" in found.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((1, 9, 205, 215, 200), "version 1"),
        ((0, 9, 215, 205, 200), "no range"),
        ((0, 9, 206, 215, 200), "begins with offset 205, not 206"),
        ((0, 9, 205, 215, 217), "last stable offset 217"),
        ((0, 9, 205, 214, 200), "offset 214 is no abort marker of producer 9"),
        ((0, 8, 205, 215, 200), "offset 215 is no abort marker of producer 8"),
        ((0, 7, 200, 216, 200), "offset 216 is no abort marker of producer 7"),
    ],
)
def test_a_transaction_index_entry_that_is_not_so_is_found(partition, fields, words):
    path = segment_file(partition, 200, "txnindex")
    path.write_bytes(struct.pack(">hqqqq", *fields))
    messages = [found.message for found in findings(partition) if found.path == path]
    assert any(words in message for message in messages), messages


def test_a_transaction_over_a_segment_border_is_followed(tmp_path):
    options = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True, "base_sequence": 0}
    segments = [
        Segment([batch(0, [b"a"] * 4, **options)]),
        Segment([batch(4, [b"b"] * 4), marker(8, 5, 0)], aborted=[(5, 0, 8, 0)]),
    ]
    directory = write_partition(tmp_path / "t-0", segments)
    assert findings(directory) == []
    change(segment_file(directory, 4, "txnindex"), 10, struct.pack(">q", 2))
    assert only_finding(directory).kind is FindingKind.TRANSACTION_INDEX


# The state beside the segments


@pytest.mark.parametrize("position", [0, 3, 8, 30, 101])
def test_a_corrupt_snapshot_is_found(partition, position):
    path = segment_file(partition, 229, "snapshot")
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)
    assert FindingKind.SNAPSHOT in kinds(partition)


@pytest.mark.parametrize("size", [0, 5, 9, 50, 101])
def test_a_short_snapshot_is_found(partition, size):
    os.truncate(segment_file(partition, 229, "snapshot"), size)
    assert FindingKind.SNAPSHOT in kinds(partition)


def test_a_snapshot_from_beyond_the_end_is_found(partition):
    segment_file(partition, 230, "snapshot").write_bytes(snapshot_bytes([]))
    assert only_finding(partition).kind is FindingKind.CHECKPOINT_RANGE


def test_a_producer_from_beyond_its_snapshot_is_found(partition):
    segment_file(partition, 229, "snapshot").write_bytes(snapshot_bytes([(7, 0, 4, 229, 4, 1, 0, -1)]))
    assert only_finding(partition).kind is FindingKind.SNAPSHOT


@pytest.mark.parametrize(
    "text",
    ["0", "1\n0\n", "0\n3\n0 0\n3 150\n", "0\n2\n0 0\n3 x\n", "0\n2\n0 0\n3 150 9\n", "0\n2\n3 0\n0 150\n",
     "0\n2\n0 0\n3 -150\n", "0\n1\n0 99999999999999999999\n", "\xff\xfe"],
)  # fmt: skip
def test_a_malformed_leader_epoch_checkpoint_is_found(partition, text):
    (partition / "leader-epoch-checkpoint").write_bytes(text.encode("latin-1"))
    assert FindingKind.CHECKPOINT in kinds(partition)


def test_a_leader_epoch_from_beyond_the_end_is_found(partition):
    (partition / "leader-epoch-checkpoint").write_text("0\n3\n0 0\n3 150\n4 230\n")
    assert only_finding(partition).kind is FindingKind.CHECKPOINT_RANGE


@pytest.mark.parametrize(
    "text", ["version: 1\ntopic_id: x7GqUAPDQjy6Hm2ZqX_o8g", "version: 0\ntopic_id: x", "", "?"]
)
def test_malformed_partition_metadata_is_found(partition, text):
    (partition / "partition.metadata").write_text(text)
    assert kinds(partition) == {FindingKind.METADATA}


def test_checkpoints_are_read_and_compared_with_the_logs(partition):
    data = partition.parent
    (data / "recovery-point-offset-checkpoint").write_text("0\n1\ntopic 0 229\n")
    (data / "replication-offset-checkpoint").write_text("0\n2\ntopic 0 230\nother 1 5\n")
    (data / "log-start-offset-checkpoint").write_text("")
    entries = [event for event in inspect(data) if isinstance(event, CheckpointEntry)]
    assert [(entry.topic, entry.partition, entry.offset) for entry in entries] == [
        ("topic", 0, 229),
        ("topic", 0, 230),
        ("other", 1, 5),
    ]
    found = only_finding(data)
    assert (found.path.name, found.kind) == ("replication-offset-checkpoint", FindingKind.CHECKPOINT_RANGE)
    assert "other-1 has no directory here" in only_finding(data, Severity.NOTE).message


def test_directory_properties_are_checked(partition):
    properties = partition.parent / "meta.properties"
    properties.write_text("#\nversion=1\ncluster.id=abc\nnode.id=1\n")
    assert findings(partition.parent) == []
    properties.write_text("version=2\nnode.id=1\n")
    assert [found.kind for found in findings(partition.parent)] == [FindingKind.METADATA] * 2


def test_leftovers_are_notes(partition):
    segment_file(partition, 0, "log.deleted").write_bytes(b"x")
    (partition.parent / f"gone-1.{'a' * 32}-delete").mkdir()
    assert findings(partition.parent) == []
    assert [found.kind for found in findings(partition.parent, Severity.NOTE)] == [FindingKind.LEFTOVER] * 2


def test_the_offset_journal_is_read_up_to_its_first_damage(partition):
    slots = [struct.pack(">16sibq", bytes(range(16)), 0, kind, 100 + kind) for kind in (0, 1, 0)]
    journal = partition.parent / "offsets.journal"
    journal.write_bytes(b"".join(struct.pack(">I", crc32c(slot)) + slot for slot in slots) + b"torn")
    entries = [event for event in inspect(journal) if isinstance(event, JournalEntry)]
    assert [(entry.position, entry.kind, entry.offset) for entry in entries] == [
        (0, "recovery point", 100),
        (33, "log start offset", 101),
        (66, "recovery point", 100),
    ]
    assert entries[0].topic_id == "AAECAwQFBgcICQoLDA0ODw"
    assert findings(partition.parent) == []
    assert only_finding(partition.parent, Severity.NOTE).kind is FindingKind.TORN_TAIL
    change(journal, 40, b"\xff")
    found = only_finding(partition.parent)
    assert (found.position, found.kind) == (33, FindingKind.BAD_CRC)


# One file alone


def test_each_kind_of_file_can_be_inspected_alone(partition):
    for path in partition.iterdir():
        assert findings(path) == []
        assert len(list(inspect(path))) >= 1


def test_an_index_alone_is_compared_with_the_log_beside_it(partition):
    index = segment_file(partition, 0, "index")
    change(index, 8, struct.pack(">ii", 69, SECOND + 1))
    assert only_finding(index).path == index
    assert findings(segment_file(partition, 0)) == []


@pytest.mark.parametrize("name", ["missing", "notes.txt"])
def test_nothing_to_inspect(tmp_path, name):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(NothingToInspect):
        list(inspect(tmp_path / name))
    with pytest.raises(NothingToInspect):
        list(inspect(tmp_path))


def test_a_file_that_goes_away_meanwhile_is_found(partition):
    events = inspect(partition)
    next(events)
    segment_file(partition, 100).unlink()
    assert FindingKind.UNREADABLE in {event.kind for event in events if isinstance(event, Finding)}


# Hostile input


def test_no_changed_byte_makes_it_raise_and_those_of_the_log_are_found(partition):
    """Of each batch the header and of each small file everything; the last batch's base offset may move."""
    for path in sorted(partition.iterdir()):
        data = path.read_bytes()
        positions = set(range(0, len(data), 1 if len(data) < 200 else 971))
        if path.suffix == ".log":
            start = 0
            while start < len(data):
                positions |= set(range(start, start + 62))
                start += parse_header(data, start).size
        for position in sorted(positions):
            changed = bytearray(data)
            changed[position] ^= 0x08
            path.write_bytes(changed)
            damage = findings(partition)
            if path.suffix == ".log" and not (path.stem.endswith("200") and 563 <= position < 571):
                assert damage, f"{path.name}: byte {position}"
        path.write_bytes(data)


@pytest.mark.fuzz
def test_random_damage_never_makes_it_raise(tmp_path, fuzz_cases):
    original = sample_partition(tmp_path / "original-0")
    seed = 20240607
    for case in range(fuzz_cases(300)):
        random_source = random.Random(seed + case)
        partition = tmp_path / "topic-0"
        shutil.copytree(original, partition)
        try:
            for _ in range(random_source.randint(1, 6)):
                damage(random_source, random_source.choice(sorted(partition.iterdir())))
            for event in inspect(partition, with_records=True):
                assert event is not None
        except Exception as error:
            raise AssertionError(f"seed {seed + case}") from error
        shutil.rmtree(partition)


def damage(random_source, path):
    data = bytearray(path.read_bytes())
    start = random_source.randrange(len(data) + 1)
    match random_source.randrange(5):
        case 0:
            del data[start:]
        case 1:
            data[start:start] = random_source.randbytes(random_source.randint(1, 100))
        case 2:
            end = min(len(data), start + random_source.randint(1, 200))
            data[start:end] = random_source.randbytes(end - start)
        case 3:
            end = min(len(data), start + random_source.randint(1, 2000))
            data[start:end] = bytes(end - start)
        case 4:
            data += data[start : start + 500]
    path.write_bytes(data)


def test_memory_stays_small_however_large_the_log(tmp_path):
    """64 MB of batches, then a claim of 2 GB in a header: neither is ever held whole."""
    directory = write_partition(tmp_path / "t-0", [])
    chunk = b"".join(batch(base, [b"x" * 1000] * 100) for base in range(0, 1000, 100))
    with open(segment_file(directory, 0), "wb") as file:
        size = 0
        while size < 64 * 1024 * 1024:
            size += file.write(chunk)
        file.write(struct.pack(">qi", 0, 2**31 - 1) + bytes(100))
    tracemalloc.start()
    try:
        for _ in inspect(segment_file(directory, 0)):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 1024 * 1024


def test_a_file_of_false_beginnings_does_not_cost_the_square_of_its_size(tmp_path):
    """Every 61 bytes claim to be a batch up to the end: the search for the next batch must give up."""
    directory = write_partition(tmp_path / "t-0", [])
    log = segment_file(directory, 0)
    count = 20_000
    header = bytearray(batch(0, [b""])[:61])
    with open(log, "wb") as file:
        for number in range(count):
            struct.pack_into(">qi", header, 0, number, (count - number) * 61 - 12)
            file.write(header)
    found = findings(log)
    assert found
    assert len(found) < 100
