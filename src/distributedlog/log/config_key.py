"""One key of a configuration: its type, its range, and the way between its value and its text.

Errors name the key, the value and what was expected; InvalidConfig is the only one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from distributedlog.log.errors import InvalidConfig

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1

ConfigValue = bool | int | float | str | tuple[str, ...]


class ConfigType(IntEnum):
    """The numbers are those by which DescribeConfigs names a type."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


@dataclass(frozen=True, slots=True)
class Validator:
    accepts: Callable[[Any], bool]
    expected: str


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key: `name` is Kafka's, `attribute` is the field of LogConfig."""

    name: str
    type: ConfigType
    default: ConfigValue
    validator: Validator | None
    documentation: str

    @property
    def attribute(self) -> str:
        return self.name.replace(".", "_")

    def check(self, value: object) -> None:
        """Raise InvalidConfig unless the value has the key's type and lies in its range."""
        allowed = _PYTHON_TYPES[self.type]
        if type(value) not in allowed:
            raise self._refusal(value, f"a {allowed[0].__name__}")
        if self.type is ConfigType.INT and not -INT32_MAX <= _as_int(value) <= INT32_MAX:
            raise self._refusal(value, "a number of 32 bits")
        if self.type is ConfigType.LONG and not -INT64_MAX <= _as_int(value) <= INT64_MAX:
            raise self._refusal(value, "a number of 64 bits")
        if self.validator is not None and not self.validator.accepts(value):
            raise self._refusal(value, self.validator.expected)

    def parse(self, text: str) -> ConfigValue:
        """The value that a configuration file or an admin client wrote as text."""
        if not isinstance(text, str):
            raise self._refusal(text, "a string")
        text = text.strip()
        value: ConfigValue
        match self.type:
            case ConfigType.BOOLEAN:
                if text.lower() not in ("true", "false"):
                    raise self._refusal(text, "true or false")
                value = text.lower() == "true"
            case ConfigType.INT | ConfigType.LONG:
                if not _INTEGER.fullmatch(text):
                    raise self._refusal(text, "a whole number")
                value = int(text)
            case ConfigType.DOUBLE:
                if not _DECIMAL.fullmatch(text):
                    raise self._refusal(text, "a decimal number")
                value = float(text)
            case ConfigType.LIST:
                value = tuple(part.strip() for part in text.split(",")) if text else ()
            case ConfigType.STRING:
                value = text
        self.check(value)
        return value

    def format(self, value: ConfigValue) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        return str(value)

    def _refusal(self, value: object, expected: str) -> InvalidConfig:
        shown = ",".join(value) if isinstance(value, tuple) and value else repr(value)
        return InvalidConfig(self.name, value, f"{self.name} = {shown} is not possible: expected {expected}")


_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?")
_PYTHON_TYPES: Final[dict[ConfigType, tuple[type, ...]]] = {
    ConfigType.BOOLEAN: (bool,),
    ConfigType.STRING: (str,),
    ConfigType.INT: (int,),
    ConfigType.LONG: (int,),
    ConfigType.DOUBLE: (float, int),
    ConfigType.LIST: (tuple,),
}


def _as_int(value: object) -> int:
    assert isinstance(value, int)
    return value


def at_least(low: int) -> Validator:
    return Validator(lambda value: bool(value >= low), f"{low} or more")


def between(low: float, high: float) -> Validator:
    return Validator(lambda value: bool(low <= value <= high), f"{low} to {high}")


def one_of(*names: str) -> Validator:
    return Validator(lambda value: value in names, "one of " + ", ".join(names))


def distinct_of(*names: str) -> Validator:
    def accepts(values: tuple[str, ...]) -> bool:
        return set(values) <= set(names) and len(set(values)) == len(values)

    return Validator(accepts, "an empty list, or each at most once of " + ", ".join(names))
