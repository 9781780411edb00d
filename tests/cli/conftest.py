"""`dlog` against the session's embedded broker (the fixture `broker` of our own pytest plugin)."""

import json
import os
from dataclasses import dataclass

import pytest

from distributedlog.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self):
        return self.raw.decode()

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def json(self):
        """Each line's object."""
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def run(capsysbinary, monkeypatch, tmp_path):
    """Run a command in this process; what it reads on standard input may be given."""

    def run_command(*arguments, stdin=b""):
        path = tmp_path / "standard-input"
        path.write_bytes(stdin if isinstance(stdin, bytes) else stdin.encode())
        capsysbinary.readouterr()
        with open(path) as file, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", file)
            try:
                code = main([os.fspath(argument) for argument in arguments])
            except SystemExit as stopped:
                code = stopped.code
        captured = capsysbinary.readouterr()
        return Outcome(code, captured.out, captured.err.decode())

    return run_command


@pytest.fixture
def dlog(run, broker, monkeypatch):
    """The same, with the session's broker as the cluster."""
    monkeypatch.setenv("DLOG_BOOTSTRAP", broker.bootstrap_servers)
    return run


@pytest.fixture
def orders(dlog, topic):
    """A topic of three partitions with nine records: values 0 to 8, in turn, three to each."""
    assert dlog("topic", "create", topic, "--partitions", "3").code == 0
    for partition in range(3):
        lines = "".join(f"{number}\n" for number in range(partition, 9, 3))
        assert dlog("produce", topic, "-p", str(partition), stdin=lines).code == 0
    return topic


@pytest.fixture
def terminal(monkeypatch):
    """Pretend that standard output is a terminal of so many columns."""

    def pretend(columns):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))

    return pretend
