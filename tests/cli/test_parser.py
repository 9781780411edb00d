"""What is wrong with a command line is one line, with what was probably meant."""

import argparse

import pytest

from distributedlog.cli.main import COMMANDS, build_parser, main
from distributedlog.cli.parser import CommandParser


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    captured = capsys.readouterr()
    assert (stopped.value.code, captured.out) == (2, "")
    assert captured.err.count("\n") == 1
    return captured.err.rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("topci", "dlog: argument COMMAND: there is no 'topci'; did you mean 'topic'?"),
        ("topic lits", "dlog topic: argument COMMAND: there is no 'lits'; did you mean 'list'?"),
        ("topic list --jsn", "dlog topic list: unrecognized arguments: --jsn; did you mean '--json'?"),
        (
            "topic create t --partition=3",
            "dlog topic create: unrecognized arguments: --partition=3; did you mean '--partitions'?",
        ),
        (
            "topic create t --part 3",
            "dlog topic create: unrecognized arguments: --part 3; did you mean '--partitions'?",
        ),
        ("topic list a b", "dlog topic list: unrecognized arguments: b"),
        ("produce", "dlog produce: the following arguments are required: TOPIC"),
        ("consume", "dlog consume: the following arguments are required: TOPIC"),
        ("completion tcsh", "dlog completion: argument SHELL: there is no 'tcsh'; there are bash, zsh, fish"),
        ("--verbose", "dlog: unrecognized arguments: --verbose; did you mean '--version'?"),
    ],
)
def test_the_line(capsys, arguments, said):
    command = said.partition(":")[0]
    assert refused(capsys, *arguments.split()) == f"{said}; see `{command} --help`"


def parsers(parser, path=()):
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from parsers(below, (*path, name))


EVERY_PARSER = dict(parsers(build_parser()))


@pytest.mark.parametrize("path", EVERY_PARSER, ids=" ".join)
def test_every_command_has_help_that_fits_80_columns(path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stopped:
        main([*path, "--help"])
    assert stopped.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(" ".join(["usage: dlog", *path]))
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("path", [path for path in EVERY_PARSER if path], ids=" ".join)
def test_every_command_describes_itself_and_its_options(path):
    parser = EVERY_PARSER[path]
    assert isinstance(parser, CommandParser)
    assert not parser.allow_abbrev
    if parser.get_default("run") is None:
        return  # it only holds others
    assert parser.description
    for action in parser._actions:
        if action.option_strings:
            assert action.help, action.option_strings


@pytest.mark.parametrize(
    "path", [path for path in EVERY_PARSER if path[:1] not in (("log",), ("pipeline",))], ids=" ".join
)
def test_what_talks_to_a_cluster_speaks_json(path):
    parser = EVERY_PARSER[path]
    options = parser._option_string_actions
    assert ("--bootstrap" in options) == ("--json" in options)


def test_there_is_a_parser_for_every_command():
    assert {path[0] for path in EVERY_PARSER if path} == set(COMMANDS)
