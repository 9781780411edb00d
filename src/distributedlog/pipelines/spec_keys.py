"""[pure] Keys of a specification: what each may be, and errors that name the nearest one.

A section is described by a tuple of `Key`; `parse_section` is the only way from what stands in a file to
values that the pipelines take. Nothing is silently ignored: what is in no table is an error.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from distributedlog.pipelines.durations import duration_ms
from distributedlog.pipelines.errors import SpecError

Kind = Callable[[object], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One key. ``kind`` turns what was written into the value, or raises ValueError with a sentence."""

    name: str
    kind: Kind
    help: str
    default: Any = None
    is_required: bool = False


def parse_section(place: str, given: object, keys: Sequence[Key]) -> dict[str, Any]:
    """Every key of the table with its value or default; `place` is for the messages, as ``[aggregate]``."""
    if not isinstance(given, Mapping):
        raise SpecError(f"{place} must be a table, not {shown(given)}")
    known = {key.name: key for key in keys}
    for name in given:
        if name not in known:
            raise SpecError(f"{place} has no key {name!r}{nearest(str(name), known)}")
    values: dict[str, Any] = {}
    for key in keys:
        if key.name not in given:
            if key.is_required:
                raise SpecError(f"{place} needs the key {key.name!r}: {key.help}")
            values[key.name] = key.default
            continue
        try:
            values[key.name] = key.kind(given[key.name])
        except ValueError as error:
            raise SpecError(f"{place} {key.name}: {error}") from None
    return values


def nearest(wrong: str, known: Iterable[str]) -> str:
    """``; did you mean 'window'?``, or all that there are where nothing is near."""
    names = list(known)
    found = get_close_matches(wrong, names, n=1, cutoff=0.6)
    if not found:
        folded = {name.lower().replace("_", ""): name for name in names}
        close = get_close_matches(wrong.lower().replace("_", ""), folded, n=1, cutoff=0.6)
        found = [folded[name] for name in close]
    if found:
        return f"; did you mean {found[0]!r}?"
    return f"; there are {', '.join(names)}"


def shown(value: object) -> str:
    """A value in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


# -- kinds ------------------------------------------------------------------------------------------


def text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be text, not {shown(value)}")
    return value.strip()


def texts(value: object) -> list[str]:
    """A list of names; one alone may stand without brackets."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if not isinstance(value, Sequence) or not value:
        raise ValueError(f"must be a list of names, not {shown(value)}")
    return [text(each) for each in value]


def truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {shown(value)}")
    return value


def number(least: int = 1) -> Kind:
    def kind(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"must be a whole number, not {shown(value)}")
        if value < least:
            raise ValueError(f"is {value}; the least is {least}")
        return value

    return kind


def duration(value: object) -> str:
    """Stays the text: what is printed later is what was written."""
    written = text(value)
    duration_ms(written)
    return written


def choice(*choices: str) -> Kind:
    def kind(value: object) -> str:
        written = text(value)
        if written not in choices:
            raise ValueError(f"is {written!r}{nearest(written, choices)}")
        return written

    return kind


def expressions(value: object) -> dict[str, str]:
    """Names with SQL expressions: ``{total = "sum(amount)"}``."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"must be a table of names and SQL expressions, not {shown(value)}")
    return {text(name): text(expression) for name, expression in value.items()}


def function(value: object) -> object:
    """A callable of a Python specification, or ``module:name`` and ``file.py:name`` as text."""
    if callable(value):
        return value
    written = text(value)
    module, colon, name = written.rpartition(":")
    if not colon or not module or not name.isidentifier():
        raise ValueError(f"is {written!r}; write it as module:name or file.py:name")
    return written


def settings(value: object) -> dict[str, str]:
    """Names and values for Spark or a format, all as text; dotted keys arrive from TOML as nested tables."""
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a table, not {shown(value)}")
    return dict(_flat("", value))


def _flat(prefix: str, table: Mapping[Any, Any]) -> Iterable[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{name}.", value)
        elif isinstance(value, bool):
            yield f"{prefix}{name}", str(value).lower()
        elif isinstance(value, str | int | float):
            yield f"{prefix}{name}", str(value)
        else:
            raise ValueError(f"{prefix}{name} must be text, a number, true or false, not {shown(value)}")


NO_KEYS: Final[tuple[Key, ...]] = ()
