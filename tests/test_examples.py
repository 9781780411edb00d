"""Every script in examples/ runs as its reader would run it, and prints what it is there to show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

#: What each has to print, as patterns of whole lines.
PRINTED = {
    "arrow_columns.py": [
        "50000 rows of offset, key, value",
        r"sensor-0 24998\.0",
        r"sensor-1 24999\.0",
        r"sensor-2 25000\.0",
        r"sensor-3 25001\.0",
        "25000 of them in the second half",
    ],
    "at_least_once.py": [
        "the first worker shipped 7, up to order 6, and died",
        "the second one went on with order 5",
        "left out: 0; shipped twice: order 5, order 6",
    ],
    "embedded_log.py": [
        "the first record got offset 0",
        r"then \[1, 2, 3\]",
        "there are 0 to 3",
        r"0 b'user-1' b'signed in' \(\('from', b'web'\),\)",
        r"1 b'user-2' b'signed in' \(\)",
        r"2 b'user-1' b'bought a hat' \(\)",
        r"3 None b'a value' \(\)",
    ],
    "group_commit.py": [
        "one thread: [0-9,]+ records/s, each on the disk when append returned",
        "16 threads: [0-9,]+ records/s, with the same promise",
        "400 different offsets, 800 records in the log",
    ],
    "key_value_store.py": ["301 records became 3", "2 keys; apples: 99"],
    "look_up_by_time.py": [
        "from 570 to 573",
        "09:30 reading 570",
        "09:31 reading 571",
        "09:32 reading 572",
        "after the last there is None",
    ],
    "produce_and_wait.py": [
        r"ann signed in: offset 0 of partition 0",
        r"bob signed in: offset 1 of partition 0",
        r"ann bought a hat: offset 2 of partition 0",
        r"refused: a record for 'events' takes up to [0-9]+ bytes",
        "closed: all that was sent is acknowledged",
    ],
    "produce_with_callbacks.py": [
        "told of the first ones while others are on their way",
        "10000 stored, 0 failed",
        "in fewer batches than a tenth of that: True",
    ],
    "send_table.py": [
        "200000 rows in 4 partitions",
        *(f"partition {index}: [0-9]+ rows, offsets 0 to [0-9]+" for index in range(4)),
    ],
    "read_process_write.py": [
        "a step failed after 4 words, and is done again",
        "TO BE OR NOT TO BE THAT IS THE QUESTION",
    ],
    "seek_to_time.py": [
        "12:45 29 degrees",
        "12:50 30 degrees",
        "12:55 31 degrees",
        "at one o'clock there is None",
    ],
    "tail.py": [*(f"event {number}" for number in range(10)), "the end"],
}


def run(name, *arguments):
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_it_prints_what_it_shows(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    lines = run(name)
    assert len(lines) == len(PRINTED[name])
    for line, pattern in zip(lines, PRINTED[name], strict=True):
        assert re.fullmatch(pattern, line)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_can_be_given_and_is_kept(tmp_path):
    run("embedded_log.py", tmp_path / "log")
    assert run("embedded_log.py", tmp_path / "log")[0] == "the first record got offset 4"


def test_a_second_follower_sees_the_same(tmp_path):
    run("tail.py", "write", tmp_path / "log")
    assert run("tail.py", "follow", tmp_path / "log") == PRINTED["tail.py"]
