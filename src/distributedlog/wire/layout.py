"""What stands on the wire in one version of a struct, read from its type hints.

A layout is the whole knowledge that the emitters need: the fields in wire order, the tagged fields,
and the fields that this version does not have. It is made once per (struct, version) and is never
looked at while a message is coded.
"""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from dataclasses import Field as DataclassField
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from distributedlog.wire.schema import Ignorable, Kind, Nullable, Present, Records, Tagged


class SchemaError(TypeError):
    """A message class says something that this vocabulary cannot express."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value of fixed width: its format character (as in module ``struct``), width and zero."""

    name: str
    format: str
    size: int
    zero: str


@dataclass(frozen=True, slots=True)
class Text:
    """A string. Kafka never lets one be longer than 32,767 bytes, even where it could be."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes, or record batches, which differ in that they are never copied."""

    is_records: bool


@dataclass(frozen=True, slots=True)
class Array:
    """An array of one type."""

    element: "WireType"


@dataclass(frozen=True, slots=True)
class Struct:
    """A nested struct."""

    layout: "Layout"


WireType = Scalar | Text | Blob | Array | Struct

SCALARS: dict[str, Scalar] = {
    scalar.name: scalar
    for scalar in (
        Scalar("int8", "b", 1, "0"),
        Scalar("int16", "h", 2, "0"),
        Scalar("int32", "i", 4, "0"),
        Scalar("int64", "q", 8, "0"),
        Scalar("uint16", "H", 2, "0"),
        Scalar("uint32", "I", 4, "0"),
        Scalar("float", "d", 8, "0.0"),
        Scalar("bool", "?", 1, "False"),
        Scalar("uuid", "16s", 16, "ZERO_UUID"),
    )
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field as it is in one version."""

    name: str
    type: WireType
    nullable: bool
    ignorable: bool
    default: Any
    default_factory: Callable[[], Any] | None


@dataclass(frozen=True, slots=True)
class Layout:
    """One struct in one version."""

    struct: type[Any]
    version: int
    flexible: bool
    present: tuple[Field, ...]
    tagged: tuple[tuple[int, Field], ...]
    absent: tuple[Field, ...]

    @property
    def size_min(self) -> int:
        """The fewest bytes that a value of this struct takes on the wire."""
        tag_section = 1 if self.flexible else 0
        return tag_section + sum(size_min(field, self.flexible) for field in self.present)

    @property
    def has_records(self) -> bool:
        """Whether record batches stand somewhere inside."""
        return any(_holds_records(field.type) for field in self._on_the_wire())

    def _on_the_wire(self) -> Iterator[Field]:
        yield from self.present
        yield from (field for _, field in self.tagged)


def size_min(field: Field, flexible: bool) -> int:
    """The fewest bytes that a field takes on the wire."""
    return 1 if field.nullable and isinstance(field.type, Struct) else type_size_min(field.type, flexible)


def type_size_min(wire_type: WireType, flexible: bool) -> int:
    """The fewest bytes that a value of a type takes on the wire."""
    match wire_type:
        case Scalar(size=size):
            return size
        case Struct(layout):
            return layout.size_min
        case Text():
            return 1 if flexible else 2
        case _:
            return 1 if flexible else 4


def _holds_records(wire_type: WireType) -> bool:
    match wire_type:
        case Blob(is_records):
            return is_records
        case Array(element):
            return _holds_records(element)
        case Struct(layout):
            return layout.has_records
        case _:
            return False


def layout_of(struct: type[Any], version: int, flexible: bool) -> Layout:
    """Read the layout of a message class in one version."""
    hints = get_type_hints(struct, include_extras=True)
    present: list[Field] = []
    tagged: list[tuple[int, Field]] = []
    absent: list[Field] = []
    for declared in fields(struct):
        try:
            field, tag, is_present = _read_field(declared, hints[declared.name], version, flexible)
        except SchemaError as error:
            raise SchemaError(f"{struct.__name__}.{declared.name}: {error}") from None
        if not is_present:
            absent.append(field)
        elif tag is None:
            present.append(field)
        else:
            tagged.append((tag, field))
    tagged.sort(key=lambda pair: pair[0])
    if tagged and not flexible:
        raise SchemaError(f"{struct.__name__} has tagged fields in version {version}, which is not flexible")
    return Layout(struct, version, flexible, tuple(present), tuple(tagged), tuple(absent))


def _read_field(
    declared: "DataclassField[Any]", hint: Any, version: int, flexible: bool
) -> tuple[Field, int | None, bool]:
    if declared.default is MISSING and declared.default_factory is MISSING:
        raise SchemaError("a field needs a default: it stands for the field where a version lacks it")
    inner, marks = _unwrap(hint)
    wire_type, is_optional, inner_marks = _read_optional(inner, version, flexible)
    marks += inner_marks
    is_present, is_nullable, tag, is_ignorable = True, is_optional, None, False
    for mark in marks:
        match mark:
            case Present(versions):
                is_present = version in versions
            case Tagged(number, versions):
                is_present, tag = version in versions, number
            case Nullable(versions):
                is_nullable = is_optional and version in versions
            case Ignorable():
                is_ignorable = True
    factory = None if declared.default_factory is MISSING else declared.default_factory
    default = declared.default if factory is None else None
    return (
        Field(declared.name, wire_type, is_nullable, is_ignorable, default, factory),
        tag,
        is_present,
    )


def _unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Take the marks off a hint, but leave the ``Kind`` on that makes an int an int32."""
    if get_origin(hint) is not Annotated:
        return hint, ()
    inner, *marks = get_args(hint)
    kinds = tuple(mark for mark in marks if isinstance(mark, Kind))
    if kinds:
        inner = Annotated[inner, kinds[0]]
    return inner, tuple(mark for mark in marks if not isinstance(mark, Kind))


def _read_optional(hint: Any, version: int, flexible: bool) -> tuple[WireType, bool, tuple[Any, ...]]:
    if get_origin(hint) in (Union, UnionType):
        members = [member for member in get_args(hint) if member is not NoneType]
        if len(members) != 1:
            raise SchemaError(f"{hint} is a union of more than one type")
        inner, marks = _unwrap(members[0])
        return _read_type(inner, version, flexible), True, marks
    return _read_type(hint, version, flexible), False, ()


def _read_type(hint: Any, version: int, flexible: bool) -> WireType:
    if hint == Records:
        return Blob(is_records=True)
    if hint is str:
        return Text()
    if hint is bytes:
        return Blob(is_records=False)
    if hint is bool or hint is float:
        return SCALARS[hint.__name__]
    if get_origin(hint) is Annotated:
        kind = get_args(hint)[1]
        if isinstance(kind, Kind) and kind.name in SCALARS:
            return SCALARS[kind.name]
    if get_origin(hint) is list:
        element, marks = _unwrap(get_args(hint)[0])
        if marks:
            raise SchemaError("the element of an array takes no marks")
        return _array_of(_read_type(element, version, flexible), flexible)
    if is_dataclass(hint) and isinstance(hint, type):
        return Struct(layout_of(hint, version, flexible))
    raise SchemaError(f"{hint} is no wire type")


def _array_of(element: WireType, flexible: bool) -> Array:
    if isinstance(element, Array):
        raise SchemaError("an array of arrays does not occur in the protocol")
    if type_size_min(element, flexible) == 0:
        raise SchemaError("the elements of an array may not be empty: nothing would bound their number")
    return Array(element)
