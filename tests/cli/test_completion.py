"""The completion scripts, in the shells themselves where this machine has them (bash it always has)."""

import shutil
import subprocess

import pytest

from distributedlog.cli.main import COMMANDS

BASH_COMPLETES = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_dlog
printf '%s\\n' "${COMPREPLY[@]}"
"""

#: What stands before the cursor, and what is offered there.
OFFERED = [
    (["dlog", ""], set(COMMANDS)),
    (["dlog", "to"], {"topic"}),
    (["dlog", "topic", ""], {"create", "list", "describe", "alter", "delete", "add-partitions"}),
    (["dlog", "topic", "create", "--p"], {"--partitions"}),
    (["dlog", "topic", "create", "orders", "--dr"], {"--dry-run"}),
    (["dlog", "produce", "orders", "--compression", ""], {"none", "gzip", "snappy", "lz4", "zstd"}),
    (["dlog", "produce", "orders", "-z", "s"], {"snappy"}),
    (["dlog", "consume", "--format", "j"], {"json"}),
    (["dlog", "completion", ""], {"bash", "zsh", "fish"}),
    (["dlog", "config", "describe", ""], {"topic", "broker", "group", "client-metrics"}),
    (["dlog", "consume", "topic", "--tem"], {"--template"}),
    (["dlog", "log", "verify", "--rec"], {"--records"}),
]
#: Here only files could be meant.
NOTHING = [
    ["dlog", "produce", "orders", ""],
    ["dlog", "config", "describe", "topic", ""],
    ["dlog", "log", "dump", ""],
]


@pytest.fixture
def script(run, tmp_path):
    def write(shell):
        outcome = run("completion", shell)
        assert (outcome.code, outcome.err) == (0, "")
        path = tmp_path / f"dlog.{shell}"
        path.write_text(outcome.out)
        return path

    return write


def bash(script, words):
    done = subprocess.run(
        ["bash", "-c", BASH_COMPLETES, "bash", script, *words], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.split())


def test_bash_offers(script):
    path = script("bash")
    assert {tuple(words): bash(path, words) for words, _ in OFFERED} == {
        tuple(words): offered for words, offered in OFFERED
    }
    assert [bash(path, words) for words in NOTHING] == [set()] * len(NOTHING)
    assert bash(path, ["dlog", "consume", "--format", "=", "k"]) == {"keyed"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command_option_and_value(script, shell):
    """Whether or not this machine has the shell: what may be completed stands in the script."""
    text = script(shell).read_text()
    for words, offered in OFFERED:
        for word in offered:
            assert (word[2:] if word.startswith("--") and shell == "fish" else word) in text, words
    if found := shutil.which(shell):
        done = subprocess.run([found, "-n", script(shell)], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


def test_no_script_starts_python_at_the_press_of_a_key(script):
    for shell in ("bash", "zsh", "fish"):
        assert "$(dlog" not in script(shell).read_text()
