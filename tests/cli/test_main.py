"""The `dlog` command itself."""

import subprocess
import sys

import pytest

from distributedlog.cli.main import main


def test_without_a_command_it_says_what_there_is(capsys):
    assert main([]) == 0
    assert "usage: dlog" in capsys.readouterr().out
    assert main(["log"]) == 0
    assert "dump" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dlog 0.")


def test_an_error_of_the_operating_system_is_one_line(capsys, monkeypatch):
    def fail(*_, **__):
        raise PermissionError(13, "Permission denied", "/data")

    monkeypatch.setattr("distributedlog.cli.log_dump.dump", fail)
    assert main(["log", "dump", "x"]) == 1
    assert capsys.readouterr().err == "dlog: [Errno 13] Permission denied: '/data'\n"


def test_an_interrupt_is_no_traceback(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("distributedlog.cli.log_verify.verify", interrupt)
    assert main(["log", "verify", "x"]) == 130


@pytest.mark.parametrize("module", ["rich", "numba", "numpy", "pyarrow", "asyncio", "distributedlog.records"])
def test_help_imports_nothing_heavy(module):
    """Start-up is a feature: see docs/adr/0005."""
    program = (
        "import sys; from distributedlog.cli.main import main; main(['log']); "
        f"sys.exit({module!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL).returncode == 0
