"""The completion scripts of bash, zsh and fish, made from the parser."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Completions:
    """What may follow a command: subcommands and options, each with its help; and the options' values."""

    path: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...]
    choices: tuple[tuple[str, tuple[str, ...]], ...]
    """An option (or "" for the first argument) with the values that it may have."""


def completions_of(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Completions]:
    """The parser's own completions, then those of its subcommands."""
    commands: list[tuple[str, str]] = []
    options: list[tuple[str, str]] = []
    choices: list[tuple[str, tuple[str, ...]]] = []
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            commands += [(pseudo.dest, pseudo.help or "") for pseudo in action._choices_actions]
            below += action.choices.items()
            continue
        options += [(name, _help(parser, action)) for name in action.option_strings if name.startswith("--")]
        if action.choices:
            values = tuple(map(str, action.choices))
            choices += [(name, values) for name in action.option_strings or ("",)]
    yield Completions(path, tuple(commands), tuple(options), tuple(choices))
    for name, subparser in below:
        yield from completions_of(subparser, (*path, name))


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """With its defaults filled in."""
    return parser._get_formatter()._expand_help(action) if action.help else ""


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script of one of `SHELLS`."""
    found = list(completions_of(parser))
    if shell == "fish":
        return _fish(found)
    bash = _bash(found)
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash}" if shell == "zsh" else bash


def _bash(found: list[Completions]) -> str:
    lines = [
        "_dlog() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local path="" words="" index',
        "    for ((index = 1; index < COMP_CWORD; index++)); do",
        '        case "$path ${COMP_WORDS[index]}" in',
    ]
    paths = [" " + " ".join(each.path) for each in found if each.path]
    lines += [f'            "{path}") path="{path}" ;;' for path in paths]
    lines += ["        esac", "    done", '    case "$path:$before" in']
    for each in found:
        path = "".join(f" {name}" for name in each.path)
        for option, values in each.choices:
            if option:
                lines.append(f'        "{path}:{option}") words="{" ".join(values)}" ;;')
    lines += ['        *) case "$path" in']
    for each in found:
        path = "".join(f" {name}" for name in each.path)
        words = [name for name, _ in (*each.commands, *each.options)]
        words += [value for option, values in each.choices if not option for value in values]
        lines.append(f'            "{path}") words="{" ".join(words)}" ;;')
    lines += [
        "        esac ;;",
        "    esac",
        '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "}",
        "complete -o default -F _dlog dlog",
        "",
    ]
    return "\n".join(lines)


def _fish(found: list[Completions]) -> str:
    lines = []
    for each in found:
        siblings = " ".join(name for name, _ in each.commands)
        seen = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in each.path)
        if each.commands:
            unless = f"not __fish_seen_subcommand_from {siblings}"
            condition = f"{seen}; and {unless}" if seen else unless
            lines += [
                f"complete -c dlog -f -n {_quoted(condition)} -a {name} -d {_quoted(help_text)}"
                for name, help_text in each.commands
            ]
        where = f" -n {_quoted(seen)}" if seen else ""
        values_of = dict(each.choices)
        for name, help_text in each.options:
            values = f" -x -a {_quoted(' '.join(values_of[name]))}" if name in values_of else ""
            lines.append(f"complete -c dlog{where} -l {name[2:]}{values} -d {_quoted(help_text)}")
        if "" in values_of:
            lines.append(f"complete -c dlog -f{where} -a {_quoted(' '.join(values_of['']))}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
