"""What generated code calls where it leaves the straight road: long varints, tag sections, errors."""

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any, Final

from distributedlog.wire.errors import EncodeError, ProtocolError, UnsupportedFieldError

Buffer = bytes | bytearray | memoryview

TEXT_LENGTH_MAX: Final = 32767
VARINT_BYTES_MAX: Final = 5
_ARRAY_STRUCTS_KEPT_MAX: Final = 256


def read_varint(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Finish an unsigned varint whose first byte, above 127, was read from before ``position``.

    Returns the value and the position after it. An ``IndexError`` tells that the buffer has ended.
    """
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 32:
                break
            return value, position
    raise ProtocolError(f"a varint before byte {position} is longer than 32 bits")


def read_text_length(buffer: Buffer, position: int, first: int, field: str) -> tuple[int, int]:
    """`read_varint` for the compact length of a string: held against Kafka's limit for strings."""
    length_plus_one, position = read_varint(buffer, position, first)
    if length_plus_one > TEXT_LENGTH_MAX + 1:
        raise ProtocolError(
            f"{field} has {length_plus_one - 1} bytes, a string has {TEXT_LENGTH_MAX} at most"
        )
    return length_plus_one, position


def skip_tags(buffer: Buffer, position: int, count: int) -> int:
    """Skip a section of ``count`` tagged fields, none of which this version knows."""
    limit = len(buffer)
    if count > 127:
        count, position = read_varint(buffer, position, count)
    previous = -1
    for _ in range(count):
        tag = buffer[position]
        position += 1
        if tag > 127:
            tag, position = read_varint(buffer, position, tag)
        size = buffer[position]
        position += 1
        if size > 127:
            size, position = read_varint(buffer, position, size)
        if tag <= previous or size > limit - position:
            raise bad_tag(tag, previous, size, limit - position)
        previous = tag
        position += size
    return position


def bad_tag(tag: int, previous: int, size: int, remaining: int) -> ProtocolError:
    """The error for a tagged field out of order, or longer than what is left."""
    if tag <= previous:
        return ProtocolError(f"tagged field {tag} follows tagged field {previous}")
    return ProtocolError(f"tagged field {tag} claims {size} bytes where {remaining} are left")


def bad_tag_size(field: str) -> ProtocolError:
    """The error for a tagged field whose value does not fill the size that it names."""
    return ProtocolError(f"{field}: the value of the tagged field has not the size that it claims")


def bad_length(field: str, length: int, remaining: int) -> ProtocolError:
    """The error for a string, bytes or array that cannot be as long as it says."""
    if length == -1:
        return ProtocolError(f"{field} is null, which it may not be")
    if length < 0:
        return ProtocolError(f"{field} has the negative length {length}")
    return ProtocolError(f"{field} has length {length}, which does not fit into the {remaining} bytes left")


def truncated(message: str, size: int) -> ProtocolError:
    """The error for a buffer that ends before its message does."""
    return ProtocolError(f"{message} goes on after the {size} bytes that are there")


def not_utf8(message: str, error: UnicodeDecodeError) -> ProtocolError:
    """The error for a string that is none."""
    return ProtocolError(f"{message} holds a string that is not UTF-8: {error}")


def _one_byte_varints() -> tuple[bytes, ...]:
    return tuple(bytes((value,)) for value in range(128))


#: The unsigned varints of one byte.
VARINTS: Final = _one_byte_varints()


def long_varint(value: int) -> bytes:
    """An unsigned varint of any length."""
    parts = bytearray()
    while value > 127:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def long_text_varint(length_plus_one: int) -> bytes:
    """The compact length of a string that is longer than 126 bytes."""
    if length_plus_one > TEXT_LENGTH_MAX + 1:
        raise EncodeError(f"a string has {length_plus_one - 1} bytes, {TEXT_LENGTH_MAX} are allowed")
    return long_varint(length_plus_one)


def unsupported(field: str, version: int) -> UnsupportedFieldError:
    """The error for a value that would be lost: the version has no such field."""
    return UnsupportedFieldError(f"{field} has a value, but version {version} has no field for it")


def bad_uuid(field: str, value: object) -> EncodeError:
    """The error for a uuid that is not sixteen bytes."""
    return EncodeError(f"{field} must be 16 bytes, not {value!r}")


@cache
def unpack_from(formats: str) -> tuple[Callable[..., tuple[Any, ...]], int]:
    """The function that unpacks these format characters from a buffer, and their size."""
    packing = Struct(">" + formats)
    return packing.unpack_from, packing.size


@cache
def pack(formats: str) -> Callable[..., bytes]:
    """The function that packs values of these format characters."""
    return Struct(">" + formats).pack


class ArrayStructs(dict[int, Callable[..., Any]]):
    """``unpack_from`` or ``pack`` of arrays of one scalar, by the number of elements.

    Made when first needed; only those of short arrays are kept, so that a peer which sends arrays of
    ever new lengths does not fill the memory.
    """

    def __init__(self, scalar_format: str, method: str) -> None:
        super().__init__()
        self._format = scalar_format
        self._method = method

    def __missing__(self, count: int) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(Struct(f">{count}{self._format}"), self._method)
        if count <= _ARRAY_STRUCTS_KEPT_MAX:
            self[count] = function
        return function


UNPACK_ARRAYS: Final = {code: ArrayStructs(code, "unpack_from") for code in "bhiqHId?"}
PACK_ARRAYS: Final = {code: ArrayStructs(code, "pack") for code in "bhiqHId?"}
