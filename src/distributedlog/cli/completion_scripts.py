"""The completion scripts of bash, zsh and fish.

All three find the command in the words before the cursor and then offer: an option's values behind that
option, options where a word begins with ``-``, else subcommands or the first argument's values; and where
there is none of these, files.
"""

import argparse
from collections.abc import Sequence

from distributedlog.cli.completion_words import Completions, completions_of


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script of one of `completion.SHELLS`."""
    found = list(completions_of(parser))
    return "\n".join({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](found)) + "\n"


def _bash(found: Sequence[Completions]) -> list[str]:
    lines = [
        "_dlog() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local place="" words="" index',
        "    # --option=value comes as three words",
        '    [[ $word == "=" ]] && word=""',
        '    [[ $before == "=" ]] && before="${COMP_WORDS[COMP_CWORD-2]}"',
        "    for ((index = 1; index < COMP_CWORD; index++)); do",
        '        case "$place ${COMP_WORDS[index]}" in',
        f'            {_patterns(found)}) place+=" ${{COMP_WORDS[index]}}" ;;',
        "        esac",
        "    done",
        '    case "$place:$before" in',
    ]
    for each in found:
        for names, values in each.choices:
            if names != ("",):
                patterns = "|".join(f'"{each.place}:{name}"' for name in names)
                lines.append(f'        {patterns}) words="{" ".join(values)}" ;;')
        if each.first_values:
            lines.append(f'        "{each.place}:{each.path[-1]}") words="{" ".join(each.first_values)}" ;;')
    lines += ["    esac", "    if [[ $word == -* ]]; then", '        case "$place" in']
    lines += [f'            "{each.place}") words="{_names(each.options)}" ;;' for each in found]
    lines += ["        esac", "    elif [[ -z $words ]]; then", '        case "$place" in']
    lines += [
        f'            "{each.place}") words="{_names(each.commands)}" ;;' for each in found if each.commands
    ]
    lines += [
        "        esac",
        "    fi",
        '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "}",
        "complete -o default -F _dlog dlog",
    ]
    return lines


def _zsh(found: Sequence[Completions]) -> list[str]:
    lines = [
        "#compdef dlog",
        "_dlog() {",
        '    local place="" index',
        "    local -a found",
        "    for ((index = 2; index < CURRENT; index++)); do",
        '        case "$place ${words[index]}" in',
        f'            {_patterns(found)}) place+=" ${{words[index]}}" ;;',
        "        esac",
        "    done",
        '    case "$place:${words[CURRENT-1]}" in',
    ]
    for each in found:
        for names, values in each.choices:
            if names != ("",):
                patterns = "|".join(f'"{each.place}:{name}"' for name in names)
                lines.append(f"        {patterns}) found=({' '.join(values)}) ;;")
        if each.first_values:
            lines.append(f'        "{each.place}:{each.path[-1]}") found=({" ".join(each.first_values)}) ;;')
    lines += ["    esac", "    if [[ ${words[CURRENT]} == -* ]]; then", '        case "$place" in']
    lines += [f'            "{each.place}") found=({_described(each.options)}) ;;' for each in found]
    lines += ["        esac", "    elif (( ! $#found )); then", '        case "$place" in']
    lines += [
        f'            "{each.place}") found=({_described(each.commands)}) ;;'
        for each in found
        if each.commands
    ]
    lines += [
        "        esac",
        "    fi",
        "    if (( $#found )); then _describe dlog found; else _files; fi",
        "}",
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }",
        "compdef _dlog dlog",
    ]
    return lines


def _fish(found: Sequence[Completions]) -> list[str]:
    lines = [
        "function __dlog_place",
        "    set -l place ''",
        "    for word in (commandline -opc)[2..]",
        '        switch "$place $word"',
        f"            case {' '.join(_fish_quoted(each.place) for each in found if each.path)}",
        '                set place "$place $word"',
        "        end",
        "    end",
        "    echo $place",
        "end",
        "function __dlog_at",
        '    test (__dlog_place) = "$argv[1]"',
        "end",
        "function __dlog_behind",
        '    __dlog_at "$argv[1]"; and test (commandline -opc)[-1] = "$argv[2]"',
        "end",
    ]
    for each in found:
        at = f"__dlog_at {_fish_quoted(each.place)}"
        lines += [
            f"complete -c dlog -f -n {_fish_quoted(at)} -a {name} -d {_fish_quoted(help_text)}"
            for name, help_text in each.commands
        ]
        values_of = {name: values for names, values in each.choices for name in names}
        for name, help_text in each.options:
            values = f" -x -a {_fish_quoted(' '.join(values_of[name]))}" if name in values_of else ""
            lines.append(
                f"complete -c dlog -n {_fish_quoted(at)} -l {name[2:]}{values} -d {_fish_quoted(help_text)}"
            )
        if each.first_values:
            behind = f"__dlog_behind {_fish_quoted(each.place)} {each.path[-1]}"
            values = " ".join(each.first_values)
            lines.append(f"complete -c dlog -f -n {_fish_quoted(behind)} -a {_fish_quoted(values)}")
    return lines


def _patterns(found: Sequence[Completions]) -> str:
    return "|".join(f'"{each.place}"' for each in found if each.path)


def _names(entries: Sequence[tuple[str, str]]) -> str:
    return " ".join(name for name, _ in entries)


def _described(entries: Sequence[tuple[str, str]]) -> str:
    return " ".join(_zsh_quoted(f"{name}:{help_text}") for name, help_text in entries)


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
