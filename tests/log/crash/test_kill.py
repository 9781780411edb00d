"""A writing process is killed with SIGKILL, again and again on one directory, and nothing it was promised
is lost: not with `ack`, and, since the page cache survives a process, not with the other settings.

DLOG_KILLS sets how many times each writer is killed, DLOG_SEED when.
"""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from tests.log.crash.crash_model import check_no_damage
from tests.log.crash.killed_writer import APPENDS_UNTIL_CLOSE, CONFIG, key_of, value_of

from distributedlog.log import Log

SEED = int(os.environ.get("DLOG_SEED", "1"))
#: Of each of the three writers with `ack`; of the others, that are promised less, a third as many.
KILLS = int(os.environ.get("DLOG_KILLS", "10"))
WRITER = Path(__file__).with_name("killed_writer.py")
#: flush, threads, cleanup.policy
WRITERS = [
    ("ack", 1, "delete"),
    ("ack", 4, "delete"),
    ("interval", 2, "delete"),
    ("os", 2, "delete"),
    ("ack", 2, "compact"),
    ("os", 2, "compact"),
]


def run_and_kill(directory, writer, first_number, random):
    """Let a writer run until it has written so many lines, and kill it; all lines it could write."""
    lines_max = random.choice((1, 2, random.randrange(60), random.randrange(2 * APPENDS_UNTIL_CLOSE)))
    flush, threads, policy = writer
    process = subprocess.Popen(
        [sys.executable, WRITER, directory, flush, str(threads), policy, str(first_number)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        lines = [process.stdout.readline() for _ in range(lines_max + 1)]
        for _ in range(random.randrange(30_000)):
            pass  # somewhere between two lines
    finally:
        process.send_signal(signal.SIGKILL)
        rest, complaint = process.communicate()
    assert process.returncode == -signal.SIGKILL, complaint.decode()
    assert complaint == b""
    written = (b"".join(lines) + rest).decode()
    return written.rpartition("\n")[0].split("\n")


def check(directory, acknowledged, writer):
    """By a copy, so that the next writer finds what the kill has left."""
    _, threads, policy = writer
    with Log(directory, flush="os", config=dict(CONFIG, **{"cleanup.policy": policy})) as log:
        records = {record.offset: record for record in log.read()}
        assert list(records) == sorted(records)
        end_offset = log.end_offset
    for record in records.values():
        assert record.value == value_of(record.timestamp), f"{record} was altered"
        assert record.key == key_of(record.timestamp)
    numbers = [record.timestamp for record in records.values()]
    assert len(set(numbers)) == len(numbers), "a record was doubled"
    if threads == 1:
        assert numbers == sorted(numbers), "records changed their order"
    if policy == "delete":
        assert list(records) == list(range(end_offset))
        survived = records
    else:
        latest = {record.key: record.offset for record in records.values()}
        survived = {
            offset for offset, number in acknowledged if offset in records or offset < latest[key_of(number)]
        }
    for offset, number in acknowledged:
        assert offset in survived, f"record {number} at offset {offset} was acknowledged and is lost"
        if offset in records:
            assert records[offset].timestamp == number
    check_no_damage(directory)
    return numbers


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: "-".join(map(str, writer)))
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path, writer):
    random = Random(f"{SEED}-{writer}")
    directory = tmp_path / "log"
    acknowledged = []
    next_number = 0
    for kill in range(KILLS if writer[0] == "ack" else KILLS // 3):
        lines = run_and_kill(directory, writer, next_number, random)
        appended = [tuple(map(int, line.split()[1:])) for line in lines if line.startswith("A")]
        acknowledged += appended
        copy = tmp_path / "copy"
        shutil.copytree(directory, copy) if directory.exists() else copy.mkdir()
        try:
            found = check(copy, acknowledged, writer)
        except Exception as error:
            error.add_note(f"kill {kill} of {writer}; DLOG_SEED={SEED}")
            raise
        # Numbers that were begun and not acknowledged may have reached the log as well.
        next_number = max([next_number - 1, *found, *(number for _, number in appended)]) + 1
        with suppress(FileNotFoundError):
            shutil.rmtree(copy)
    assert acknowledged
