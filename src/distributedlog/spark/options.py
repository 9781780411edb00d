"""[pure] What options of reading and writing have in common: names, texts to values, errors that help.

Spark hands all keys over in lower case and all values as texts. A table of names in their usual spelling
says what there is; what is in no table is an error that names the nearest one, since an option that is
silently ignored is found out in production.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeVar

from distributedlog.spark.errors import InvalidSparkOption, UnknownSparkOption

AnyDefault = TypeVar("AnyDefault", int, None)

KAFKA_PREFIX: Final = "kafka."

#: What Spark itself puts among the options of a query; none of our business.
SPARKS_OWN: Final = frozenset({"checkpointlocation", "queryname", "outputmode", "__schema"})


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """Options by their usual spelling, and those for the Kafka client without ``kafka.`` in front."""

    options: Mapping[str, str]
    kafka: Mapping[str, str]

    def text(self, name: str) -> str | None:
        """The text as given, without space around it; None where nothing is given."""
        value = self.options.get(name)
        return None if value is None or not value.strip() else value.strip()

    def truth(self, name: str, default: bool) -> bool:
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in {"true", "false"}:
            raise InvalidSparkOption(f"option {name!r} is {text!r}; it must be true or false")
        return text.lower() == "true"

    def number(self, name: str, default: AnyDefault, least: int = 1) -> int | AnyDefault:
        text = self.text(name)
        if text is None:
            return default
        try:
            number = int(text)
        except ValueError:
            raise InvalidSparkOption(f"option {name!r} is {text!r}; it must be a whole number") from None
        if number < least:
            raise InvalidSparkOption(f"option {name!r} is {number}; the least is {least}")
        return number

    def choice(self, name: str, choices: Iterable[str], default: str) -> str:
        text = self.text(name)
        if text is None:
            return default
        for choice in choices:
            if choice.lower() == text.lower():
                return choice
        raise InvalidSparkOption(f"option {name!r} is {text!r}; it must be one of {', '.join(choices)}")

    def milliseconds(self, name: str, default: AnyDefault) -> int | AnyDefault:
        """A duration as Spark writes it: ``500ms``, ``10s``, ``15m``, ``2h``, or milliseconds alone."""
        text = self.text(name)
        return default if text is None else _milliseconds(name, text)


def sort_options(given: Mapping[str, object], names: Iterable[str], purpose: str) -> GivenOptions:
    """What was given, by the names of the table; UnknownSparkOption for what is none of them.

    `purpose` is for the message: ``reading``, ``writing``.
    """
    spelling = {name.lower(): name for name in names}
    options: dict[str, str] = {}
    kafka: dict[str, str] = {}
    for key, value in given.items():
        if value is None:
            continue
        low = key.lower()
        if low in spelling:
            options[spelling[low]] = str(value)
        elif low.startswith(KAFKA_PREFIX):
            kafka[low.removeprefix(KAFKA_PREFIX)] = str(value)
        elif low not in SPARKS_OWN:
            raise UnknownSparkOption(_unknown(key, low, spelling, purpose))
    return GivenOptions(options, kafka)


def _unknown(key: str, low: str, spelling: Mapping[str, str], purpose: str) -> str:
    if low == "path":
        return "topics have no path: name them with the option 'subscribe' (reading) or 'topic' (writing)"
    if low in {"bootstrap.servers", "bootstrapservers", "bootstrap_servers"}:
        return f"there is no option {key!r} for {purpose}; did you mean 'kafka.bootstrap.servers'?"
    return f"there is no option {key!r} for {purpose}{nearest(low, spelling)}"


def nearest(wrong: str, spelling: Mapping[str, str]) -> str:
    """``; did you mean 'this'?`` where one of the names is near; `spelling` maps lower case to the name."""
    found = get_close_matches(wrong.lower(), spelling, n=1, cutoff=0.6)
    return f"; did you mean {spelling[found[0]]!r}?" if found else ""


_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def _milliseconds(name: str, text: str) -> int:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text[len(digits) :].strip().lower() or "ms"
    if not (digits.isascii() and digits.isdigit()) or unit not in _UNITS_MS:
        raise InvalidSparkOption(f"option {name!r} is {text!r}; write a duration as 500ms, 10s, 15m or 2h")
    return int(digits) * _UNITS_MS[unit]
