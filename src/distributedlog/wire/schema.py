"""The vocabulary in which Kafka's messages are declared.

A message is a slotted dataclass, and its type hints *are* the schema: the same line that mypy
reads tells the compiler what stands on the wire. ``index: Int32 = 0`` is an int32 in every version;
``Annotated[str | None, versions("8+"), ignorable] = None`` is a nullable string from version 8 on.

What a hint means:

==========================  ===========================================================
``Int8 … Int64, UInt16/32`` a big-endian integer of that width, a plain ``int`` in Python
``bool``, ``float``         one byte; an IEEE double
``str``, ``bytes``          string and bytes, compact in flexible versions
``Uuid``                    sixteen raw bytes (``uuid.UUID`` costs a microsecond to build)
``Records``                 record batches, never looked into; see below
``list[T]``                 an array of T, compact in flexible versions
a dataclass                 a nested struct
``T | None``                nullable in every version, or in those that ``nullable`` names
==========================  ===========================================================

Dataclass defaults are Kafka's defaults: they stand for a field that a version does not have, and
a tagged field equal to its default is not written.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Protocol


class Region(Protocol):
    """Bytes that live elsewhere (a range of a file); only their number is known here."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """The wire type behind a hint that Python's own types cannot express."""

    name: str


@dataclass(frozen=True, slots=True)
class VersionRange:
    """An inclusive range of versions; ``last`` is None where it is open."""

    first: int
    last: int | None

    def __contains__(self, version: int) -> bool:
        return version >= self.first and (self.last is None or version <= self.last)


@dataclass(frozen=True, slots=True)
class Present:
    """The field stands on the wire in these versions only."""

    range: VersionRange


@dataclass(frozen=True, slots=True)
class Nullable:
    """The field may be null in these versions only."""

    range: VersionRange


@dataclass(frozen=True, slots=True)
class Tagged:
    """The field is a tagged one (KIP-482) in these versions, and absent in all others."""

    tag: int
    range: VersionRange


@dataclass(frozen=True, slots=True)
class Ignorable:
    """A value may be dropped silently when the version encoded has no such field.

    Without this mark, encoding a value other than the default raises ``UnsupportedFieldError``.
    """


def _range(text: str) -> VersionRange:
    if text.endswith("+"):
        return VersionRange(int(text[:-1]), None)
    first, _, last = text.partition("-")
    return VersionRange(int(first), int(last or first))


def versions(text: str) -> Present:
    """``versions("3+")``, ``versions("3-12")`` or ``versions("7")``."""
    return Present(_range(text))


def nullable(text: str) -> Nullable:
    """The versions in which a ``T | None`` field may be null, where that is not all of them."""
    return Nullable(_range(text))


def tagged(tag: int, text: str) -> Tagged:
    """A tagged field with its number and its versions."""
    return Tagged(tag, _range(text))


ignorable: Final = Ignorable()

Int8 = Annotated[int, Kind("int8")]
Int16 = Annotated[int, Kind("int16")]
Int32 = Annotated[int, Kind("int32")]
Int64 = Annotated[int, Kind("int64")]
UInt16 = Annotated[int, Kind("uint16")]
UInt32 = Annotated[int, Kind("uint32")]
Uuid = Annotated[bytes, Kind("uuid")]
ZERO_UUID: Final = bytes(16)

#: Decoding hands on a memoryview of the received frame. Encoding takes any buffer, or a `Region`
#: that the server sends straight from its file (``encode_pieces``).
Records = Annotated[bytes | bytearray | memoryview | Region, Kind("records")]
