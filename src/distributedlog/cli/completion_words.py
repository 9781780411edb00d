"""What may be completed where, read off the parser."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Completions:
    """What may follow a command: subcommands and options, each with its help; and the options' values."""

    path: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...]
    #: An option's names (or "" for the first argument), with the values that it may have.
    choices: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]

    @property
    def place(self) -> str:
        """The path as the scripts write it, each word behind a space."""
        return "".join(f" {name}" for name in self.path)

    @property
    def first_values(self) -> tuple[str, ...]:
        """What the first argument may be, where that is known."""
        return next((values for names, values in self.choices if names == ("",)), ())


def completions_of(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Completions]:
    """The parser's own completions, then those of its subcommands."""
    commands: list[tuple[str, str]] = []
    options: list[tuple[str, str]] = []
    choices: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            commands += [(pseudo.dest, pseudo.help or "") for pseudo in action._choices_actions]
            below += action.choices.items()
            continue
        options += [(name, _help(parser, action)) for name in action.option_strings if name.startswith("--")]
        if action.choices:
            choices.append((tuple(action.option_strings) or ("",), tuple(map(str, action.choices))))
    yield Completions(path, tuple(commands), tuple(options), tuple(choices))
    for name, subparser in below:
        yield from completions_of(subparser, (*path, name))


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """With its defaults filled in."""
    return parser._get_formatter()._expand_help(action) if action.help else ""
