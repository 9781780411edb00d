"""The demo, with few records; and that each of its claims can fail."""

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from distributedlog import Entry, Log
from distributedlog.cli.main import main
from distributedlog.demo import broker_process, command, runner, stage
from distributedlog.demo.figures import Figure, duration
from distributedlog.demo.orders import VALUE_BYTES, order, orders
from distributedlog.demo.runner import is_in_memory, run_demo
from distributedlog.demo.scenes import (
    append,
    arrow,
    broker,
    compaction,
    durability,
    kill,
    look_up,
    read,
    verify,
)

RECORDS = 1_500
DEMO = [sys.executable, "-W", "error", "-m", "distributedlog.demo"]
DEADLINE_SECONDS = 60


@pytest.fixture(autouse=True)
def few(monkeypatch, tmp_path):
    monkeypatch.setattr(look_up, "LOOK_UPS", 50)
    monkeypatch.setattr(kill, "ACKNOWLEDGED_BEFORE_KILL", 50)
    monkeypatch.setattr(durability, "APPENDS_ALONE", 20)
    monkeypatch.setattr(durability, "THREADS", 4)
    monkeypatch.setattr(durability, "APPENDS_OF_THREAD", 10)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    # Without Java the click stream is left out; tests/test_demo_click_stream.py plays it.
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)


def scene(play):
    return SimpleNamespace(TITLE="meanwhile", play=play)


# -- the whole of it -------------------------------------------------------------------------------


def test_all_claims_hold(capsys, tmp_path):
    assert main(["demo", "--records", str(RECORDS), "--keep", str(tmp_path / "kept")]) == 0
    out = capsys.readouterr().out
    assert "All 15 claims above were checked, and hold." in out
    assert "FAILED" not in out
    for what in (
        "append, 160 at a time",
        "read as Arrow columns",
        "recover a killed log",
        "compact",
        "confluent-kafka produces",
        "restart a killed broker",
    ):
        assert what in out
    assert out.splitlines()[-1].startswith(f"Next: `dlog log dump {tmp_path / 'kept'}/orders`")
    with Log(tmp_path / "kept" / "orders") as log:
        assert [record.value for record in log.read()] == [order(number).value for number in range(RECORDS)]


@pytest.mark.parametrize("count", [1, 159, 160, 161])
def test_few_records_are_enough(count):
    assert run_demo(count, None, (append, read, arrow, look_up, compaction, verify)) == 0


def test_nothing_is_left_behind(tmp_path):
    assert run_demo(10, None, (append, kill)) == 0
    assert list((tmp_path / "temporary").iterdir()) == []


def test_in_a_pipe_there_is_plain_text_of_80_columns(tmp_path):
    environment = os.environ | {"FORCE_COLOR": "1", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*DEMO, "--records", "300"], capture_output=True, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("ascii")
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "\\" not in text
    paths = str(tmp_path)
    assert [line for line in text.splitlines() if len(line) > 80 and paths not in line] == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_on_a_terminal_a_bar_moves(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(
        runner, "new_console", lambda: Console(file=screen, force_terminal=True, width=80, _environ={})
    )
    assert run_demo(RECORDS, None, (append,)) == 0
    assert "━━━" in screen.getvalue()
    assert f"{RECORDS}/{RECORDS}" in screen.getvalue()


@pytest.mark.parametrize(
    ("environment", "is_terminal"),
    [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "CI": "true"}, False)],
)
def test_what_counts_as_a_terminal(monkeypatch, environment, is_terminal):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.delenv("CI", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert stage.new_console().is_terminal is is_terminal


def test_without_the_extra_arrow_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(arrow, "find_spec", lambda name: None if name == "numba" else object())
    assert run_demo(10, None, (append, arrow)) == 0
    assert "left out: numba missing; pip install 'distributedlog[arrow]'" in capsys.readouterr().out


def test_without_confluent_kafka_the_broker_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(broker, "find_spec", lambda _: None)
    assert run_demo(10, None, (append, broker)) == 0
    assert "left out: confluent-kafka missing; pip install confluent-kafka" in capsys.readouterr().out


def test_a_request_to_stop_leaves_nothing(tmp_path):
    """SIGTERM while the writer that is to be killed is at work."""
    temporary = tmp_path / "temporary"
    with subprocess.Popen([*DEMO, "--records", "10"], stdout=subprocess.DEVNULL) as demo:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not any(path.stat().st_size for path in temporary.glob("*/killed/*/*.log")):
            assert demo.poll() is None
            assert time.monotonic() < deadline
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(DEADLINE_SECONDS) == 128 + signal.SIGTERM
    assert list(temporary.iterdir()) == []


# -- the command line ------------------------------------------------------------------------------


def test_a_directory_with_something_in_it_is_not_touched(capsys, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    assert main(["demo", "--keep", str(tmp_path / "mine")]) == 2
    assert "is there already and not empty; give a new directory" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter"]


@pytest.mark.parametrize("count", ["0", "many", "-1", "1.5", ""])
def test_a_count_that_is_none_is_a_usage_error(capsys, count):
    with pytest.raises(SystemExit) as stopped:
        command.main([f"--records={count}"])
    assert stopped.value.code == 2
    assert "a number of records, at least 1" in capsys.readouterr().err


def test_counts_may_be_written_as_people_write_them():
    assert command.positive("1_000_000") == command.positive("1,000,000") == 1_000_000


def test_an_interrupt_is_no_traceback(monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", interrupt)
    assert command.main([]) == 130


# -- every claim can fail --------------------------------------------------------------------------


def rewrite(entries):
    """A scene that puts other records in the place of the ones that were appended."""

    def play(stage):
        shutil.rmtree(stage.orders_path)
        with Log(stage.orders_path, flush="os") as log:
            log.append_many(entries)

    return scene(play)


def flip_a_byte(stage):
    """In the first batch: a reader takes a last one that is not sound for one that is still being written."""
    with next(stage.orders_path.glob("*/*.log")).open("r+b") as file:
        file.seek(200)
        byte = file.read(1)[0]
        file.seek(200)
        file.write(bytes([byte ^ 1]))


def altered(number):
    made = order(number)
    return Entry(made.key, made.value.replace(b'"cents"', b'"Cents"'), (), made.timestamp)


RIGHT = orders(range(200))
OTHERS = {
    "one is altered": [*RIGHT[:77], altered(77), *RIGHT[78:]],
    "one is missing": RIGHT[:-1],
    "one is there twice": [*RIGHT, RIGHT[-1]],
    "two are swapped": [*RIGHT[:5], RIGHT[6], RIGHT[5], *RIGHT[7:]],
}


def failure(capsys, *scenes, count=200):
    """What a demo that fails says was wrong."""
    assert run_demo(count, None, scenes) == 1
    out = capsys.readouterr().out
    assert "of the claims did not hold:" in out
    assert "hold. It took" not in out
    return " ".join(line.strip() for line in out.splitlines() if "Please report" not in line)


def test_append_notices_a_record_too_few(monkeypatch, capsys):
    monkeypatch.setattr(append, "orders", lambda numbers: orders(numbers)[1:])
    assert "the log ends at 199 instead of 200" in failure(capsys, append)


@pytest.mark.parametrize("what", OTHERS)
def test_reading_notices(capsys, what):
    assert "are not as written" in failure(capsys, append, rewrite(OTHERS[what]), read)


@pytest.mark.parametrize("what", OTHERS)
def test_arrow_notices(capsys, what):
    assert "Arrow batches are not as written" in failure(capsys, append, rewrite(OTHERS[what]), arrow)


def test_looking_up_notices_another_record(capsys):
    altered_all = [altered(number) for number in range(200)]
    said = failure(capsys, append, rewrite(altered_all), look_up)
    assert "50 of 50 offsets gave another record than theirs" in said
    assert "1 of the claims did not hold" in said


def test_looking_up_notices_another_moment(capsys):
    said = failure(
        capsys, append, rewrite([Entry(b"first", b"", (), order(0).timestamp - 1), *RIGHT]), look_up
    )
    assert "of 50 moments gave a wrong record" in said


def test_lost_appends_of_threads_are_noticed(monkeypatch, capsys):
    monkeypatch.setattr(durability, "append_from_threads", lambda *_: None)
    assert "220 are in the log instead of 260, 40 of them missing" in failure(capsys, durability)


def test_a_lost_record_is_noticed(monkeypatch, capsys):
    def note_one_more(line, acknowledged):
        acknowledged[10**9] = 1
        return note(line, acknowledged)

    note = kill.note
    monkeypatch.setattr(kill, "note", note_one_more)
    assert "acknowledged records are LOST" in failure(capsys, kill)


def test_an_altered_record_is_noticed(monkeypatch, capsys):
    def note_another(line, acknowledged):
        offset, number = map(int, line.split())
        acknowledged[offset] = number + (offset == 7)
        return True

    monkeypatch.setattr(kill, "note", note_another)
    assert "1 of" in (said := failure(capsys, kill))
    assert "records kept are not as they were written" in said


def test_an_altered_record_that_nobody_was_told_of_is_noticed(monkeypatch, capsys):
    """Written behind the back of the writer, which never acknowledged it."""

    def recover_and_add(path, after):
        recover(path, after)
        with Log(path) as log:
            log.append(key=b"customer-0000", value=altered(5).value)

    recover = kill.recover
    monkeypatch.setattr(kill, "recover", recover_and_add)
    assert "records kept are not as they were written" in failure(capsys, kill)


def test_a_recovery_that_cuts_too_little_is_noticed(monkeypatch, capsys):
    monkeypatch.setattr(kill, "tear", lambda _: 1_000_000)
    assert "recovery did not do its work" in failure(capsys, kill)


def test_a_writer_that_ends_by_itself_is_noticed(monkeypatch, capsys):
    monkeypatch.setattr(kill.sys, "executable", shutil.which("true"))
    assert "the writer ended by itself after 0 records" in failure(capsys, kill)


def test_a_compaction_that_does_nothing_is_noticed(monkeypatch, capsys):
    monkeypatch.setattr(compaction.Log, "compact", lambda _: None)
    assert "not the last of theirs" in failure(capsys, append, compaction, count=10_100)


def test_a_compaction_that_drops_too_much_is_noticed(monkeypatch, capsys):
    def compact_and_forget(log):
        compact(log)
        if log.end_offset > 5:  # not the log that only warms up
            log.delete_before(5)

    compact = Log.compact
    monkeypatch.setattr(compaction.Log, "compact", compact_and_forget)
    assert "records are left for" in failure(capsys, append, compaction)


def test_damage_on_the_disk_is_noticed(capsys):
    assert "damage: " in failure(capsys, append, scene(flip_a_byte), verify)


def test_an_error_of_the_log_ends_the_demo_with_a_line(capsys):
    said = failure(capsys, append, scene(flip_a_byte), read, look_up)
    assert "FAILED CorruptLog: " in said
    assert "4/4" not in said  # nothing is played after that


def test_a_broker_that_alters_loses_and_forgets_is_noticed(monkeypatch, capsys):
    """Its client reads something else than the broker has; and where the group stopped is misremembered."""

    def read_other(consumer, count):
        found = read(consumer, count)
        last = max(found)
        return {offset: value for offset, value in found.items() if offset != last} or {last + 1: b""}

    read = broker.read
    monkeypatch.setattr(broker, "read", read_other)
    said = failure(capsys, broker)
    assert "confluent-kafka did not read what it had written" in said
    assert "400 of 400 acknowledged, 0 failed, 399 found, 1 of them wrong" in said
    assert "group billing goes on at 101 instead of 100" in said


def test_a_broker_that_does_not_start_ends_the_demo_with_a_line(monkeypatch, capsys):
    monkeypatch.setattr(broker_process, "SETTINGS", ("--set", "no.such.setting=1"))
    assert "the broker did not start: dlog" in failure(capsys, broker)


# -- figures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ns"),
        (828e-9, "828 ns"),
        (1.25e-6, "1.25 µs"),
        (352e-6, "352.0 µs"),
        (7.4e-3, "7.40 ms"),
        (3, "3.00 s"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_a_figure_of_nothing_divides_by_nothing():
    figure = Figure("nothing", 0, 0.0)
    assert (figure.rate, figure.each_seconds) == (0, 0)


def test_an_order_has_as_many_bytes_as_the_table_says():
    assert {len(order(number).value) for number in (0, 999_999, 4_000_000_000)} == {VALUE_BYTES}


@pytest.mark.parametrize(
    ("path", "is_memory"), [("/tmp/x", True), ("/tmp/disk/x", False), ("/home/x", False), ("/tmpx", False)]
)
def test_directories_in_memory_are_told_from_those_on_disk(tmp_path, path, is_memory):
    table = tmp_path / "mounts"
    table.write_text("dev / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\ndev /tmp/disk ext4 rw 0 0\n")
    assert is_in_memory(tmp_path.__class__(path), table) is is_memory


def test_where_nothing_tells_it_is_taken_for_a_disk(tmp_path):
    assert not is_in_memory(tmp_path, tmp_path / "mounts")
