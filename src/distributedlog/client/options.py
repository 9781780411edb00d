"""[pure] Options of clients: declared once as fields, checked when a client is made.

    class ProducerSettings(Options):
        linger_ms: float = option(default=5, least=0)

A name that does not exist is an error that names the nearest one that does; Kafka's dotted names are
understood well enough to say how they are written here.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar, dataclass_transform

from distributedlog.client.errors import InvalidOption, UnknownOption

AnyOptions = TypeVar("AnyOptions", bound="Options")


def option(
    *,
    default: Any,
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[Any] | None = None,
) -> Any:
    """A field with bounds: from `least` to `most`, or one of `choices`."""
    limits = {"least": least, "most": most, "choices": choices}
    return dataclasses.field(default=default, metadata=limits)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option,))
class Options:
    """Subclasses are frozen dataclasses whose values are of the types and within the bounds they declare."""

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            _check(field, getattr(self, field.name))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]


def split_options(given: Mapping[str, Any], *classes: type[Options]) -> list[Any]:
    """One instance of each class with the options that are its own; UnknownOption for what is nobody's.

    None means the default, so that options can be passed on without looking at them.
    """
    known = [name for owner in classes for name in owner.names()]
    for name in given:
        if name not in known:
            raise UnknownOption(_unknown(name, known))
    return [
        owner(**{name: given[name] for name in owner.names() if given.get(name) is not None})
        for owner in classes
    ]


def _unknown(name: str, known: Sequence[str]) -> str:
    written_here = name.replace(".", "_").replace("-", "_").lower()
    if written_here != name and written_here in known:
        return f"there is no option {name!r}: it is written {written_here!r} here"
    if written_here == "bootstrap_servers":
        return f"there is no option {name!r}: the bootstrap servers are the first argument"
    nearest = get_close_matches(written_here, known, n=1, cutoff=0.5)
    suggestion = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"there is no option {name!r}{suggestion}"


def _check(field: "dataclasses.Field[Any]", value: Any) -> None:
    kinds = _plain_kinds(field.type)
    if kinds and not _is_of(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds if kind is not type(None))
        raise InvalidOption(f"{field.name} is {value!r}; it must be of type {wanted}")
    least, most = field.metadata.get("least"), field.metadata.get("most")
    choices = field.metadata.get("choices")
    if choices is not None and value not in choices:
        raise InvalidOption(f"{field.name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")
    if value is None:
        return
    if least is not None and value < least:
        raise InvalidOption(f"{field.name} is {value!r}; the least is {least}")
    if most is not None and value > most:
        raise InvalidOption(f"{field.name} is {value!r}; the most is {most}")


def _plain_kinds(annotation: Any) -> tuple[type, ...]:
    """The types that can be checked here; none where a field takes more than numbers, texts and truths."""
    members = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    return members if all(member in {int, float, str, bool, type(None)} for member in members) else ()


def _is_of(value: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds) or (isinstance(value, int) and float in kinds)
