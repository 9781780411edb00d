"""Files that are not what was written, and callers who ask for what cannot be: each gets a clear error,
and nothing that is sound is lost."""

import os
import subprocess
import sys
from array import array
from contextlib import suppress

import pytest

from distributedlog.log import Entry, Log
from distributedlog.log.errors import (
    CorruptLog,
    DirectoryLocked,
    DirectoryNotWritable,
    LogClosed,
    LogError,
    OffsetOutOfRange,
    RecordTooLarge,
    UnsupportedDirectoryVersion,
)
from distributedlog.records import InvalidRecordError

RECORDS = 40
CONFIG = {"segment.bytes": "1100", "index.interval.bytes": "64"}
BASE_TIMESTAMP = 1_000


def write_log(directory, *, clean=True):
    """Records of one size, ten to a segment; closed, or left as by the death of the process."""
    log = Log(directory, config=CONFIG)
    for number in range(RECORDS):
        log.append(value=b"%032d" % number, timestamp=BASE_TIMESTAMP + number)
    size = log._log.segments.active.size // (RECORDS - log._log.segments.active.base_offset)
    if clean:
        log.close()
    else:
        log._directory.abandon()
    return size


def segments(directory):
    return sorted((directory / "log-0").glob("*.log"))


def read_offsets(log, start=None):
    return [record.offset for record in log.read(start)]


def flip(path, position):
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)


# -- damage in the log ------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [8, 16, 17, 21, 23, 57, 61, 70])
def test_a_flipped_byte_in_a_closed_log_is_named_and_costs_one_batch(memory_path, at):
    """Wherever the CRC reaches, and the fields before it that say where the batch ends."""
    size = write_log(memory_path)
    damaged = segments(memory_path)[1]
    base_offset = int(damaged.stem)
    flip(damaged, 3 * size + at)
    with Log(memory_path, config=CONFIG) as log:
        assert log.recovery.was_clean
        with pytest.raises(CorruptLog) as caught:
            read_offsets(log)
        assert caught.value.path == str(damaged)
        assert caught.value.position == 3 * size
        assert read_offsets(log, base_offset + 4) == list(range(base_offset + 4, RECORDS))
        reader = log.read()
        assert [next(reader).offset for _ in range(base_offset + 3)] == list(range(base_offset + 3))
        assert log.append(value=b"goes on") == RECORDS


def test_damage_below_the_recovery_point_is_not_taken_for_a_torn_write(memory_path):
    size = write_log(memory_path, clean=False)
    damaged = segments(memory_path)[-1]
    base_offset = int(damaged.stem)
    (memory_path / "recovery-point-offset-checkpoint").write_text(f"0\n1\nlog 0 {RECORDS}\n")
    (memory_path / "offsets.journal").write_bytes(b"")
    flip(damaged, size + 70)
    before = {path: path.read_bytes() for path in memory_path.rglob("*.log")}
    for _ in range(2):
        with pytest.raises(CorruptLog, match="repair=True") as caught:
            Log(memory_path, config=CONFIG)
        assert caught.value.path == str(damaged)
        assert caught.value.position == size
        assert {path: path.read_bytes() for path in memory_path.rglob("*.log")} == before
    with Log(memory_path, config=CONFIG, repair=True) as log:
        assert read_offsets(log) == list(range(base_offset + 1))
        saved = log.recovery.saved_to
        assert log.append(value=b"goes on") == base_offset + 1
    assert b"".join(path.read_bytes() for path in saved) == before[damaged][size:]
    with Log(memory_path, config=CONFIG) as log:
        assert log.recovery.was_clean


def test_a_repaired_log_opens_after_the_next_kill_without_another_repair(memory_path):
    """The recovery point that was noted before the repair lies beyond the log's end."""
    size = write_log(memory_path, clean=False)
    (memory_path / "recovery-point-offset-checkpoint").write_text(f"0\n1\nlog 0 {RECORDS}\n")
    (memory_path / "offsets.journal").write_bytes(b"")
    flip(segments(memory_path)[-1], size + 70)
    log = Log(memory_path, config=CONFIG, repair=True)
    end_offset = log.append(value=b"goes on") + 1
    log._directory.abandon()
    with Log(memory_path, config=CONFIG) as log:
        assert read_offsets(log) == list(range(end_offset))


def test_a_segment_that_is_missing_below_the_recovery_point_is_reported(memory_path):
    write_log(memory_path, clean=False)
    gone = segments(memory_path)[-1]
    (memory_path / "recovery-point-offset-checkpoint").write_text(f"0\n1\nlog 0 {RECORDS}\n")
    (memory_path / "offsets.journal").write_bytes(b"")
    gone.unlink()
    with pytest.raises(CorruptLog, match=f"offsets up to {RECORDS}"):
        Log(memory_path, config=CONFIG)


# -- damage beside the log --------------------------------------------------------------------------

GARBAGE = {
    "empty": lambda data: b"",
    "short": lambda data: data[: len(data) // 2],
    "odd": lambda data: data[:-3],
    "longer": lambda data: data + b"\x00\x00\x00\x09" * 7,
    "zeroed": lambda data: bytes(len(data)),
    "ones": lambda data: b"\xff" * len(data),
    "noise": lambda data: bytes((position * 7919 + 13) % 256 for position in range(len(data))),
    "text": lambda data: b"this is no index at all\n" * 4,
}


def check_all_there(log):
    assert read_offsets(log) == list(range(RECORDS))
    for number in range(RECORDS):
        assert next(log.read(number)).value == b"%032d" % number
        assert log.offset_for_time(BASE_TIMESTAMP + number) == number
    assert log.offset_for_time(BASE_TIMESTAMP + RECORDS) is None


@pytest.mark.parametrize("clean", [True, False], ids=["closed", "killed"])
@pytest.mark.parametrize("damage", GARBAGE)
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_damaged_index_is_rebuilt(memory_path, suffix, damage, clean):
    write_log(memory_path, clean=clean)
    for path in (memory_path / "log-0").glob(f"*{suffix}"):
        path.write_bytes(GARBAGE[damage](path.read_bytes()))
    with Log(memory_path, config=CONFIG) as log:
        check_all_there(log)
    with Log(memory_path, config=CONFIG) as log:
        assert log.recovery.was_clean
        check_all_there(log)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_of_another_segment_is_rebuilt(memory_path, suffix):
    write_log(memory_path)
    first, second, *_ = sorted((memory_path / "log-0").glob(f"*{suffix}"))
    data = first.read_bytes()
    first.write_bytes(second.read_bytes()[: -len(second.read_bytes()) // 2])
    second.write_bytes(data * 2)
    with Log(memory_path, config=CONFIG) as log:
        check_all_there(log)


@pytest.mark.parametrize("clean", [True, False], ids=["closed", "killed"])
@pytest.mark.parametrize("damage", GARBAGE)
@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "offsets.journal",
        "log-0/leader-epoch-checkpoint",
        "log-0/*.snapshot",
        ".kafka_cleanshutdown",
    ],
)
def test_a_damaged_file_beside_the_log_costs_nothing(memory_path, name, damage, clean):
    write_log(memory_path, clean=clean)
    paths = list(memory_path.glob(name)) or [memory_path / name]
    for path in paths:
        path.write_bytes(GARBAGE[damage](path.read_bytes() if path.exists() else b"0\n1\nlog 0 5\n"))
    with Log(memory_path, config=CONFIG) as log:
        check_all_there(log)
        assert log.append(value=b"%032d" % RECORDS, timestamp=BASE_TIMESTAMP) == RECORDS
    with Log(memory_path, config=CONFIG) as log:
        assert log.recovery.was_clean
        assert log.end_offset == RECORDS + 1
        assert log._log.leader_epochs.entries == ((0, 0),)


@pytest.mark.parametrize("name", ["meta.properties", "log-0/partition.metadata"])
@pytest.mark.parametrize("damage", [name for name in GARBAGE if name != "longer"])
def test_a_damaged_identity_is_a_clear_error_that_changes_nothing(memory_path, name, damage):
    write_log(memory_path)
    path = memory_path / name
    good = path.read_bytes()
    path.write_bytes(GARBAGE[damage](good))
    with pytest.raises((CorruptLog, UnsupportedDirectoryVersion)) as caught:
        Log(memory_path, config=CONFIG)
    assert str(path) in str(caught.value)
    path.write_bytes(good)
    with Log(memory_path, config=CONFIG) as log:
        check_all_there(log)


def test_a_directory_of_another_version_is_left_alone(memory_path):
    write_log(memory_path)
    path = memory_path / "meta.properties"
    path.write_text(path.read_text().replace("version=1", "version=2"))
    before = {
        each: each.read_bytes() for each in memory_path.rglob("*") if each.is_file() and each.name != ".lock"
    }
    with pytest.raises(UnsupportedDirectoryVersion, match=r"version '2'.*nothing was changed"):
        Log(memory_path)
    after = {
        each: each.read_bytes() for each in memory_path.rglob("*") if each.is_file() and each.name != ".lock"
    }
    assert after == before


@pytest.mark.parametrize("content", [b"nonsense", b"", b"5\n-7\n", b"\xff\xfe"])
def test_a_damaged_intent_to_swap_is_a_clear_error(memory_path, content):
    """`swap.py` writes it whole or not at all; what else is found there nobody may act on."""
    write_log(memory_path)
    (memory_path / "log-0" / f"{0:020d}.swapping").write_bytes(content)
    with pytest.raises(CorruptLog, match=r"\.swapping is damaged"):
        Log(memory_path, config=CONFIG)


# -- the directory ----------------------------------------------------------------------------------


def test_a_file_in_the_directorys_place_is_a_clear_error(memory_path):
    (memory_path / "file").write_text("not a directory")
    for path in (memory_path / "file", memory_path / "file" / "below"):
        with pytest.raises(DirectoryNotWritable, match="cannot write to"):
            Log(path)


@pytest.mark.parametrize(
    "name", ["log-0", "offsets.journal", "meta.properties", ".lock", "log-0/partition.metadata"]
)
def test_something_else_in_the_place_of_a_file_is_a_clear_error(memory_path, name):
    path = memory_path / name
    if name == "log-0":
        path.write_text("not a directory")
    else:
        path.mkdir(parents=True)
    with pytest.raises(DirectoryNotWritable) as caught:
        Log(memory_path)
    assert str(memory_path) in str(caught.value)
    # Nothing is left open or locked: with the obstacle gone the log opens.
    if name == "log-0":
        path.unlink()
    else:
        path.rmdir()
    with Log(memory_path) as log:
        assert log.append(value=b"v") == 0


def open_files():
    """What the descriptors of this process stand for."""
    targets = []
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the one that lists them
            targets.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return targets


def open_descriptors():
    return len(open_files())


def test_a_log_that_cannot_be_opened_leaves_nothing_open(memory_path):
    write_log(memory_path)
    (memory_path / "log-0" / "partition.metadata").write_text("version: 0\ntopic_id: nonsense")
    before = open_descriptors()
    for _ in range(20):
        with pytest.raises(CorruptLog):
            Log(memory_path)
    assert open_descriptors() == before


def test_open_close_and_use_leave_nothing_open(memory_path):
    write_log(memory_path)
    before = open_descriptors()
    for _ in range(5):
        with Log(memory_path, config=CONFIG, flush="os") as log:
            log.append_many([b"v" * 50] * 40)
            read_offsets(log)
            log.offset_for_time(BASE_TIMESTAMP)
            log.delete_before(log.start_offset + 20)
    assert open_descriptors() == before


AS_ANOTHER_USER = """
import os, sys
if os.geteuid() == 0:
    from distributedlog.log import Log, LogReader  # what this user may read, the other perhaps may not
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
from distributedlog.log import Log, LogReader
from distributedlog.log.errors import DirectoryNotWritable
try:
    Log(sys.argv[1])
except DirectoryNotWritable as error:
    print("refused", error)
if sys.argv[2] == "readable":
    with LogReader(sys.argv[1]) as reader:
        print("read", [record.value for record in reader.read()])
"""


def as_another_user(path, expectation="unreadable"):
    """What a process says that has no rights but those the mode of a file gives: root's own ignores it."""
    done = subprocess.run(
        [sys.executable, "-c", AS_ANOTHER_USER, path, expectation],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def permissions(path):
    return {each: each.stat().st_mode for each in [path, *path.rglob("*")]}


@pytest.mark.parametrize(
    "locked", [".", "log-0", "offsets.journal", ".lock", "log-0/*.log", "meta.properties"]
)
def test_a_directory_that_may_be_read_and_not_written_is_named_and_read(memory_path, locked):
    """Read-only are all of it, or just the one thing; readers need no right to write."""
    memory_path.chmod(0o755)
    write_log(memory_path, clean=False)
    before = {path: path.read_bytes() for path in memory_path.rglob("*") if path.is_file()}
    modes = permissions(memory_path)
    for path in modes:
        path.chmod(0o777 if path.is_dir() else 0o666)
    target = max(memory_path.glob(locked)) if "*" in locked else memory_path / locked
    for path in [target, *(target.rglob("*") if locked == "." else ())]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        said = as_another_user(memory_path, "readable")
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    values = [b"%032d" % number for number in range(RECORDS)]
    assert f"read {values}" in said
    if locked != "meta.properties":  # which is read and no more
        assert said.startswith("refused cannot write to ")
        assert str(memory_path) in said
        assert {path: path.read_bytes() for path in before if path.name != ".lock"} == {
            path: data for path, data in before.items() if path.name != ".lock"
        }


def test_a_directory_that_cannot_be_made_is_named(memory_path):
    memory_path.chmod(0o555)
    try:
        said = as_another_user(memory_path / "below")
    finally:
        memory_path.chmod(0o755)
    assert said.startswith(f"refused cannot write to {memory_path / 'below'}")


SECOND_WRITER = """
import sys
from distributedlog import Log
from distributedlog.log.errors import DirectoryLocked
try:
    Log(sys.argv[1])
except DirectoryLocked as error:
    print(error.pid, error)
"""


def test_a_second_writer_is_told_who_the_first_is(memory_path):
    with Log(memory_path) as log:
        log.append(value=b"v")
        done = subprocess.run(
            [sys.executable, "-c", SECOND_WRITER, memory_path], capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith(f"{os.getpid()} {memory_path} is locked by process {os.getpid()}; ")
        with pytest.raises(DirectoryLocked) as caught:
            Log(memory_path)
        assert caught.value.pid == os.getpid()
        assert log.append(value=b"w") == 1
    with Log(memory_path) as log:
        assert read_offsets(log) == [0, 1]


# -- the caller -------------------------------------------------------------------------------------


def test_a_record_over_the_limit_is_refused_and_the_log_goes_on(memory_path):
    with Log(memory_path, config={"max.message.bytes": "1000"}) as log:
        assert log.append(value=b"v" * 900) == 0
        with pytest.raises(RecordTooLarge, match=r"max\.message\.bytes") as caught:
            log.append(value=b"v" * 1000)
        assert caught.value.max_message_bytes == 1000
        with pytest.raises(RecordTooLarge):
            log.append_many([b"v", b"v" * 2000])
        end_offset = log.end_offset
        assert log.append(value=b"w") == end_offset
        assert read_offsets(log) == list(range(end_offset + 1))


@pytest.mark.parametrize("limit", [400, 2000, 1 << 20])
def test_append_many_parts_what_fits_alone_but_not_together(memory_path, limit):
    """Whatever of a record it is that takes the room: each of these is accepted by itself."""
    whole = limit - 100
    records = [
        Entry(None, b"v", (("h", b"x" * whole),)),
        Entry(None, b"v" * (whole // 2), ()),
        Entry(None, b"v", (("h" * (whole // 3), b"x" * (whole // 3)), ("i", None))),
        Entry(b"k" * (whole // 2), b"v" * (whole // 2)),
        *[Entry(None, b"")] * 40,
    ]
    with Log(memory_path, config={"max.message.bytes": limit}) as log:
        for record in records:
            log.append_many([record])
        assert log.append_many(records * 3) == range(len(records), 4 * len(records))
        assert [record.value for record in log.read(len(records))] == [each.value for each in records * 3]


def test_reads_below_the_start_and_beyond_the_end_name_the_limits(memory_path):
    with Log(memory_path, config=CONFIG) as log:
        log.append_many([b"v" * 100] * 3)
        for _ in range(20):
            log.append(value=b"v" * 100)
        log.delete_before(5)
        for offset in (-1, 0, 4, 24, 1 << 62):
            with pytest.raises(OffsetOutOfRange, match="offsets 5 to 23") as caught:
                log.read(offset)
            assert (caught.value.log_start_offset, caught.value.log_end_offset) == (5, 23)
        assert read_offsets(log, 23) == []
        assert read_offsets(log, 5) == list(range(5, 23))
        for offset in (-1, 24):
            with pytest.raises(OffsetOutOfRange):
                log.delete_before(offset)


WRONG = [
    {"value": "text"},
    {"key": 5},
    {"value": b"v", "headers": {"a": "b"}},
    {"value": b"v", "headers": ((b"a", b"b"),)},
    {"value": b"v", "headers": (("a", "b"),)},
    {"value": b"v", "headers": (("a",),)},
    {"value": b"v", "headers": 5},
    {"value": b"v", "timestamp": "now"},
    {"value": b"v", "timestamp": 1.5},
    {"value": b"v", "timestamp": 1 << 63},
    {"value": b"v", "timestamp": -(1 << 63) - 1},
    {"value": [b"v"]},
    {"value": array("i", [1, 2, 3])},
    {"key": array("i", [1, 2, 3]), "value": b"v"},
    {"value": b"v", "headers": (("a", array("i", [1, 2, 3])),)},
]


@pytest.mark.parametrize("compression", ["none", "zstd"])
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_types_and_ranges_are_refused_before_anything_is_written(memory_path, wrong, compression):
    with Log(memory_path, compression=compression) as log:
        log.append(value=b"first")
        size = log._log.size
        with pytest.raises((TypeError, LogError, InvalidRecordError)):
            log.append(**wrong)
        with pytest.raises((TypeError, LogError, InvalidRecordError)):
            log.append_many([Entry(**wrong)])
        assert log._log.size == size
        assert log.append(value=b"second") == 1
    with Log(memory_path) as log:
        assert [record.value for record in log.read()] == [b"first", b"second"]


def test_use_after_close_is_a_clear_error(memory_path):
    log = Log(memory_path, config={"cleanup.policy": "compact"})
    log.append(key=b"k", value=b"v")
    begun = log.read()
    log.close()
    log.close()
    uses = {
        "append": lambda: log.append(key=b"k", value=b"v"),
        "append_many": lambda: log.append_many([(b"k", b"v")]),
        "read": log.read,
        "next": lambda: next(begun),
        "offset_for_time": lambda: log.offset_for_time(0),
        "flush": log.flush,
        "delete_before": lambda: log.delete_before(0),
        "apply_retention": log.apply_retention,
        "compact": log.compact,
    }
    for use in uses.values():
        with pytest.raises(LogClosed, match=f"{memory_path}.*is closed"):
            use()
    assert [target for target in open_files() if target.startswith(str(memory_path))] == []
