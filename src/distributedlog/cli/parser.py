"""The parser of every command: argparse, but what is wrong is one line, with what was probably meant."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

EXIT_USAGE: Final = 2
HELP_COLUMN: Final = 26


class CommandParser(argparse.ArgumentParser):
    """Subcommands made of it are of this class too. Options are never abbreviated."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _HelpFormatter)
        super().__init__(*arguments, **options)

    def error(self, message: str) -> NoReturn:
        """The whole usage would hide the one word that is wrong."""
        self.exit(EXIT_USAGE, f"{self.prog}: {message}; see `{self.prog} --help`\n")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """What no command takes: ``--partition`` where ``--partitions`` was meant."""
        hint = ""
        if words[0].startswith("-"):
            hint = did_you_mean(words[0].partition("=")[0], self._option_string_actions)
        self.error(f"unrecognized arguments: {' '.join(words)}{hint}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = list(map(str, action.choices))
        hint = did_you_mean(str(value), known) or f"; there are {', '.join(known)}"
        raise argparse.ArgumentError(action, f"there is no {value!r}{hint}")


class _HelpFormatter(argparse.HelpFormatter):
    def __init__(self, prog: str, *arguments: Any, **options: Any) -> None:
        options.setdefault("max_help_position", HELP_COLUMN)
        super().__init__(prog, *arguments, **options)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to an error, where something is near."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""
