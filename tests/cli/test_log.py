"""`dlog log dump` and `dlog log verify` as a user runs them."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from distributedlog.cli.main import main
from partition_files import Segment, batch, sample_partition, write_partition

DLOG = [sys.executable, "-m", "distributedlog.cli.main"]


@pytest.fixture
def partition(tmp_path):
    return sample_partition(tmp_path / "data" / "topic-0")


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def damage(partition, position=9241 + 100):
    with open(partition / f"{0:020}.log", "r+b") as file:
        file.seek(position)
        file.write(b"\xff\xff\xff")


def contents(directory):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path(directory).rglob("*.*")}


def test_verify_of_a_sound_log(capsys, partition):
    code, out, err = run(capsys, "log", "verify", partition.parent)
    assert (code, err) == (0, "")
    assert "topic-0: 3 segments, 25 batches, 229 records, offsets 0 to 228, " in out
    assert out.endswith("sound\n")


def test_verify_of_a_damaged_log_names_file_position_and_kind(capsys, partition):
    damage(partition)
    code, out, err = run(capsys, "log", "verify", partition)
    assert (code, err) == (1, "")
    assert f"DAMAGE {partition}/{0:020}.log:9241: bad-crc: wrong CRC" in out
    assert out.endswith("DAMAGED: 1 found\n")


def test_a_bar_moves_with_the_bytes_that_are_checked(capsys, monkeypatch, partition):
    seen = []
    monkeypatch.setattr(
        "distributedlog.cli.progress.ProgressBar.update", lambda _, *counts: seen.append(counts)
    )
    run(capsys, "log", "verify", partition.parent)
    size = sum(path.stat().st_size for path in partition.glob("*.log"))
    assert seen[-1] == (size, size, 229, size)
    assert sorted(seen) == seen


def test_a_finding_is_one_line_however_long_its_path(capsys, tmp_path):
    directory = sample_partition(tmp_path / ("long" * 20) / ("name" * 30) / "topic-0")
    damage(directory)
    out = run(capsys, "log", "verify", directory)[1]
    assert len(out.splitlines()) == 3
    assert f"{directory}/{0:020}.log:9241: bad-crc: wrong CRC" in out


def test_verify_as_json(capsys, partition):
    damage(partition)
    code, out, _ = run(capsys, "log", "verify", "--json", partition)
    finding, summary = map(json.loads, out.splitlines())
    assert code == 1
    assert (finding["event"], finding["kind"], finding["severity"]) == ("finding", "bad-crc", "damage")
    assert (finding["path"], finding["position"]) == (f"{partition}/{0:020}.log", 9241)
    assert (summary["event"], summary["batches"]) == ("summary", 24)


def test_verify_with_records_looks_into_batches(capsys, tmp_path):
    from distributedlog.records import write_crc

    data = bytearray(batch(0, [b"value"]))
    data[61] ^= 0x40
    write_crc(data)
    directory = write_partition(tmp_path / "t-0", [Segment([bytes(data)])])
    assert run(capsys, "log", "verify", directory)[0] == 0
    assert run(capsys, "log", "verify", "--records", directory)[0] == 1


def test_verify_of_several_paths_finds_damage_in_any(capsys, partition, tmp_path):
    sound = sample_partition(tmp_path / "sound-0")
    damage(partition)
    assert run(capsys, "log", "verify", partition, sound)[0] == 1
    assert run(capsys, "log", "verify", sound, partition)[0] == 1


@pytest.mark.parametrize("command", ["dump", "verify"])
def test_a_path_without_a_log_is_a_usage_error(capsys, tmp_path, command):
    code, out, err = run(capsys, "log", command, tmp_path / "missing")
    assert (code, out) == (2, "")
    assert "does not exist" in err
    code, _, err = run(capsys, "log", command, tmp_path)
    assert code == 2
    assert "holds no log" in err


@pytest.mark.parametrize(
    "arguments", [["log", "verify"], ["log", "mend", "x"], ["log", "dump", "--recs", "x"]]
)
def test_a_wrong_command_line_is_a_usage_error(capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "; see `dlog log" in capsys.readouterr().err


def test_nothing_is_changed(capsys, partition):
    damage(partition)
    before = contents(partition.parent)
    run(capsys, "log", "verify", "--records", partition.parent)
    run(capsys, "log", "dump", "--records", partition.parent)
    assert contents(partition.parent) == before
    assert sorted(before) == sorted(partition.parent.rglob("*.*"))


def test_dump_shows_every_kind_of_entry(capsys, partition):
    (partition.parent / "recovery-point-offset-checkpoint").write_text("0\n1\ntopic 0 229\n")
    code, out, _ = run(capsys, "log", "dump", partition.parent)
    assert code == 0
    for words in (
        "recovery-point-offset-checkpoint  offset checkpoint",
        "00000000000000000200.log  log, 20,848 bytes",
        "00000000000000000000.index  offset index, 16 bytes",
        "00000000000000000200.txnindex  transaction index, 34 bytes",
        "x7GqUAPDQjy6Hm2ZqX_o8g",
        "2023-11-14 22:28:20.050",
        "none, transactional, control",
        "snappy",
    ):
        assert words in out
    assert "key-3" not in out


def test_dump_puts_findings_beside_what_they_are_about(capsys, partition):
    damage(partition)
    lines = run(capsys, "log", "dump", partition)[1].splitlines()
    (found,) = [number for number, line in enumerate(lines) if "DAMAGE" in line]
    assert "WRONG" in lines[found - 1]


def test_dump_with_records_shows_them_shortened(capsys, partition):
    out = run(capsys, "log", "dump", "--records", partition)[1]
    assert "key-3" in out
    assert "marker: abort" in out
    assert "null" in out
    assert "c" * 47 + "…" in out
    assert max(map(len, out.splitlines())) <= 200


def test_dump_as_json_shortens_nothing(capsys, partition):
    code, out, _ = run(capsys, "log", "dump", "--records", "--json", partition)
    events = [json.loads(line) for line in out.splitlines()]
    records = [event for event in events if event["event"] == "record"]
    batches = [event for event in events if event["event"] == "batch"]
    assert code == 0
    assert [record["offset"] for record in records] == list(range(229))
    assert records[219]["value"] == "c" * 5000
    assert records[218]["value"] is None
    assert records[0]["headers"] == [["h", "1"]]
    assert [record["control"] for record in records[215:218]] == ["abort", "commit", None]
    assert batches[1]["base_offset"] == 10
    assert batches[1]["last_offset"] == 19
    assert {event["event"] for event in events} == {
        "file", "property", "leader_epoch", "batch", "record", "offset_index_entry", "time_index_entry",
        "aborted_transaction", "producer", "summary",
    }  # fmt: skip


def test_json_keeps_bytes_that_are_no_text(capsys, tmp_path):
    directory = write_partition(tmp_path / "t-0", [Segment([batch(0, [b"\xff\x00"])])])
    out = run(capsys, "log", "dump", "--records", "--json", directory)[1]
    (record,) = [event for event in map(json.loads, out.splitlines()) if event["event"] == "record"]
    assert record["value"] == {"base64": "/wA="}


def test_a_long_dump_is_one_table(capsys, tmp_path):
    batches = [batch(number, [b"x"]) for number in range(1000)]
    directory = write_partition(tmp_path / "t-0", [Segment(batches)])
    out = run(capsys, "log", "dump", directory)[1]
    assert out.count("max timestamp") == 1
    assert sum(line.endswith("right") for line in out.splitlines()) == 1000


def test_names_and_contents_cannot_steer_the_terminal(capsys, tmp_path):
    directory = write_partition(tmp_path / "t\x1b[2J-0", [Segment([batch(0, [b"\x1b]0;title\x07[red]"])])])
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: \x1b[31m\n")
    out = run(capsys, "log", "dump", "--records", directory)[1]
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[red]" in out


def test_a_name_that_is_no_text_is_shown(tmp_path, partition):
    strange = os.fsencode(partition.parent) + b"/t\xff-0"
    os.rename(partition, strange)
    for arguments in (["dump"], ["verify"], ["dump", "--json"]):
        done = subprocess.run([*DLOG, "log", *arguments, strange], capture_output=True, timeout=60)
        assert done.returncode == 0
        assert b"xff-0" in done.stdout or b"udcff-0" in done.stdout
        assert done.stderr == b""


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    batches = [batch(number, [b"x"]) for number in range(5000)]
    directory = write_partition(tmp_path / "t-0", [Segment(batches)])
    with subprocess.Popen(
        [*DLOG, "log", "dump", "--json", directory], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()
        assert process.wait(timeout=60) == 0
    assert error == b""


@pytest.mark.parametrize("position", [0, 8, 16, 17, 21, 23, 57, 61, 300])
def test_damage_is_never_a_traceback(capsys, partition, position):
    damage(partition, position)
    for arguments in (
        ["verify"],
        ["verify", "--records", "--json"],
        ["dump", "--records"],
        ["dump", "--json"],
    ):
        code, out, err = run(capsys, "log", *arguments, partition)
        assert code == ("verify" in arguments)
        assert err == ""
        assert out


def test_an_index_that_was_made_for_another_log_is_damage(capsys, partition):
    index = partition / f"{0:020}.index"
    index.write_bytes(struct.pack(">iiii", 19, 9242, 99, 9243))
    code, out, _ = run(capsys, "log", "verify", index)
    assert code == 1
    assert "index-target: the entry for offset 19 leads to position 9242, in the middle of a batch" in out
