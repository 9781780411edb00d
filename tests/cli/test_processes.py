"""`dlog` as a process: signals, pipes, and a cluster that goes away in the middle."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from distributedlog.cli.main import main
from distributedlog.testing import EmbeddedBroker
from readiness import is_readable

DLOG = [sys.executable, "-W", "error", "-m", "distributedlog.cli.main"]
DEADLINE_SECONDS = 60


@contextlib.contextmanager
def started(*arguments, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0, **options}
    with subprocess.Popen([*DLOG, *arguments], **options) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(stream):
    assert is_readable(stream, DEADLINE_SECONDS), "nothing was printed"
    return stream.readline()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("as_member", [False, True], ids=["alone", "as member"])
def test_following_ends_with_a_signal(dlog, orders, number, code, as_member):
    """What was printed is committed then, so the group goes on behind it."""
    group = f"{orders}-group"
    options = ["--group", group] if as_member else []
    with started("consume", orders, "--follow", "--from-beginning", *options) as process:
        printed = {line_of(process.stdout) for _ in range(9)}
        assert len(printed) == 9
        process.send_signal(number)
        _, error = process.communicate(timeout=DEADLINE_SECONDS)
        assert (process.returncode, error) == (code, b"")
    if as_member:
        assert dlog("consume", orders, "--group", group).raw == b""
        assert "0 members" in dlog("group", "describe", group).out


def test_a_reader_that_leaves_early_is_no_error(dlog, topic):
    dlog("produce", topic, "--quiet", stdin=(b"some text" * 11 + b"\n") * 20_000)
    with started("consume", topic) as process:
        assert line_of(process.stdout) == b"some text" * 11 + b"\n"
        process.stdout.close()
        assert process.wait(DEADLINE_SECONDS) == 0
        assert process.stderr.read() == b""


def test_lines_are_written_as_they_come_and_an_interrupt_tells_how_many(dlog, topic):
    dlog("topic", "create", topic)
    with started("produce", topic, stdin=subprocess.PIPE) as process:
        process.stdin.write(b"one\ntwo\n")
        process.stdin.flush()
        deadline = time.monotonic() + DEADLINE_SECONDS
        while dlog("consume", topic).lines != ["one", "two"]:
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_SECONDS) == 130
        assert process.stderr.read() == b"Stopped; 2 records had been acknowledged.\n"


def test_a_broker_that_comes_back_is_gone_on_with(run, monkeypatch):
    with EmbeddedBroker() as broker:
        monkeypatch.setenv("DLOG_BOOTSTRAP", broker.bootstrap_servers)
        run("produce", "t", "--quiet", stdin="before\n")
        with started("consume", "t", "--follow", "--from-beginning") as process:
            assert line_of(process.stdout) == b"before\n"
            broker.restart()
            run("produce", "t", "--quiet", stdin="after\n")
            assert line_of(process.stdout) == b"after\n"


def test_a_broker_that_stays_away_ends_it_with_what_was_written(run, monkeypatch):
    with EmbeddedBroker() as broker:
        monkeypatch.setenv("DLOG_BOOTSTRAP", broker.bootstrap_servers)
        run("topic", "create", "t")
        with started("produce", "t", "--timeout", "0.5", stdin=subprocess.PIPE) as process:
            process.stdin.write(b"one\ntwo\n")
            process.stdin.flush()
            deadline = time.monotonic() + DEADLINE_SECONDS
            while len(run("consume", "t").lines) < 2:
                assert time.monotonic() < deadline
            broker.stop()
            process.stdin.write(b"three\n")
            process.stdin.flush()
            assert process.wait(DEADLINE_SECONDS) == 1
            error = process.stderr.read().decode()
    assert error.startswith("dlog: ")
    assert "no broker answers: cannot connect to " in error
    assert "; 2 records had been acknowledged before that" in error
    assert error.count("\n") == 1


def test_names_that_are_no_text_are_said(tmp_path, dlog, topic):
    dlog("topic", "create", topic)
    path = os.fsencode(tmp_path) + b"/\xff"
    done = subprocess.run([*DLOG, "produce", topic, path], capture_output=True, timeout=DEADLINE_SECONDS)
    assert done.returncode == 1
    assert done.stderr.endswith(b"\\udcff cannot be read: No such file or directory\n")


def test_output_that_knows_no_such_letters_gets_escapes(dlog, topic):
    dlog("produce", topic, "--quiet", "--key", "ü", stdin="→\n")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*DLOG, "topic", "list", topic, "--json"],
        capture_output=True,
        env=environment,
        timeout=DEADLINE_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    full = subprocess.run(
        [*DLOG, "consume", topic, "--format", "full"], capture_output=True, env=environment, timeout=60
    )
    assert full.stdout.endswith("  ü → →\n".encode())  # what is in the records stays as it is


def test_the_commands_work_where_no_signals_can_be_handled(dlog, orders):
    """In a thread, as a program may call `main`."""
    import threading

    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(["topic", "list"])))
    thread.start()
    thread.join(DEADLINE_SECONDS)
    assert codes == [0]
