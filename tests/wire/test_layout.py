"""Schemas that say something that cannot be are refused when they are compiled."""

from dataclasses import dataclass, field
from typing import Annotated

import pytest

from distributedlog.wire.layout import SchemaError, layout_of
from distributedlog.wire.schema import Int8, Int32, VersionRange, ignorable, nullable, tagged, versions


@dataclass(slots=True)
class Sample:
    always: Int8 = 0
    until: Annotated[Int32, versions("0-1")] = 0
    once: Annotated[Int32, versions("1")] = 0
    since: Annotated[str | None, versions("2+"), nullable("3+"), ignorable] = None
    second: Annotated[Int32, tagged(2, "3+")] = 0
    first: Annotated[Int32, tagged(0, "3+")] = 0


def names(fields):
    return [field.name for field in fields]


def test_a_layout_has_the_fields_of_its_version():
    assert names(layout_of(Sample, 0, False).present) == ["always", "until"]
    assert names(layout_of(Sample, 1, False).present) == ["always", "until", "once"]
    version_3 = layout_of(Sample, 3, True)
    assert names(version_3.present) == ["always", "since"]
    assert names(version_3.absent) == ["until", "once"]
    assert [(tag, field.name) for tag, field in version_3.tagged] == [(0, "first"), (2, "second")]


def test_null_is_allowed_in_its_versions_only():
    assert not layout_of(Sample, 2, False).present[-1].nullable
    assert layout_of(Sample, 3, True).present[-1].nullable


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3+", [3, 99], [2]), ("3-5", [3, 5], [2, 6]), ("4", [4], [3, 5])],
)
def test_a_range_of_versions_is_inclusive(text, inside, outside):
    written = versions(text).range
    assert isinstance(written, VersionRange)
    assert all(version in written for version in inside)
    assert not any(version in written for version in outside)


@dataclass(slots=True)
class WithoutDefault:
    number: Int32


@dataclass(slots=True)
class PlainInt:
    number: int = 0


@dataclass(slots=True)
class TwoTypes:
    value: str | bytes = ""


@dataclass(slots=True)
class MarkedElement:
    values: list[Annotated[str, versions("1+")]] = field(default_factory=list)


@dataclass(slots=True)
class TaggedTooSoon:
    number: Annotated[Int32, tagged(0, "0+")] = 0


@dataclass(slots=True)
class Empty:
    later: Annotated[Int32, versions("1+")] = 0


@dataclass(slots=True)
class EmptyElements:
    values: list[Empty] = field(default_factory=list)


@dataclass(slots=True)
class ArraysOfArrays:
    values: list[list[str]] = field(default_factory=list)


@pytest.mark.parametrize(
    ("struct", "reason"),
    [
        (WithoutDefault, r"WithoutDefault\.number: a field needs a default"),
        (PlainInt, r"PlainInt\.number: .* is no wire type"),
        (TwoTypes, r"TwoTypes\.value: .* more than one type"),
        (MarkedElement, r"MarkedElement\.values: the element of an array takes no marks"),
        (EmptyElements, r"EmptyElements\.values: .* nothing would bound their number"),
        (ArraysOfArrays, r"ArraysOfArrays\.values: an array of arrays"),
        (TaggedTooSoon, r"tagged fields in version 0, which is not flexible"),
    ],
)
def test_a_schema_that_cannot_be_is_refused(struct, reason):
    with pytest.raises(SchemaError, match=reason):
        layout_of(struct, 0, False)
