"""Runs of records of one shape, decoded column by column.

Records that a program writes one after another are often alike: the same lengths, the same widths of all
varints. Then a field stands at the same distance in each of them, and a slice with a step takes it out of
all at once, so that the work per record is done in C. A run ends where any byte that decides the shape
differs; what follows is decoded one by one. Nothing is taken on trust: every length of every record is
compared with that of the first, which `decoding` has checked.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from distributedlog.records.varint import UNZIGZAG, read_varint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distributedlog.records.record import RecordFields

#: Shorter ones are decoded faster one by one.
RUN_RECORDS_MIN: Final = 8

_ONE_BYTE_DELTAS: Final = 64
_TWO_BYTE_DELTAS: Final = 8192
#: The varints of the offset deltas 0, 1, 2 …, their first bytes and, where there are two, their second ones.
_ONE_BYTE: Final = bytes(range(0, 2 * _ONE_BYTE_DELTAS, 2))
_LOW: Final = bytes(range(128, 256, 2)) * 128
_HIGH: Final = b"".join(bytes((high,)) * 64 for high in range(128))
#: What a varint's last byte may be, and its other ones.
_LAST_BYTES: Final = bytes(range(128))
_FIRST_BYTES: Final = bytes(range(128, 256))
_VARINT_ENDS_MAX: Final = 0x7F
_WIDTH_MAX: Final = 2


class Shape(NamedTuple):
    """Where the fields of a record without headers stand, counted from the record's first byte."""

    size: int
    timestamp: int
    offset: int
    key: int  # of its length
    key_data: int
    value: int  # of its length
    value_data: int


class Run(NamedTuple):
    """Records, which can be taken once, and how many they are."""

    fields: Iterable[RecordFields]
    records_count: int


def find_run(
    data: bytes,
    position: int,
    size: int,
    count_max: int,
    base_offset: int,
    base_timestamp: int,
    first_delta: int,
) -> Run | None:
    """The records from `position` on that are like the one before, which takes `size` bytes and is sound.

    `first_delta` is the offset delta that is due. The data goes on for `count_max` records of this size.
    None when too few are alike, or when there are gaps in their offsets.
    """
    last = position + (RUN_RECORDS_MIN - 1) * size
    if count_max < RUN_RECORDS_MIN or data[last] != data[position - size]:
        return None
    shape = _shape(data, position - size, size)
    if shape is None:
        return None
    width = shape.key - shape.offset
    count_max = min(count_max, (_ONE_BYTE_DELTAS if width == 1 else _TWO_BYTE_DELTAS) - first_delta)
    count = _count_alike(data, position, shape, count_max)
    count = _count_with_equal_widths(data, position, shape, count)
    if count < RUN_RECORDS_MIN or not _are_consecutive(data, position, shape, count, first_delta):
        return None
    offset = base_offset + first_delta
    fields = zip(
        range(offset, offset + count),
        _timestamps(data, position, shape, count, base_timestamp),
        _blobs(data, position, shape, shape.key, shape.key_data, shape.value, count),
        _blobs(data, position, shape, shape.value, shape.value_data, size - 1, count),
        repeat(()),
    )
    return Run(fields, count)


def _shape(data: bytes, start: int, size: int) -> Shape | None:
    """Of a record that is sound; None for one with headers, or deltas of more than two bytes."""
    timestamp = _behind_varint(data, start) + 1
    offset = _behind_varint(data, timestamp)
    key = _behind_varint(data, offset)
    if offset - timestamp > _WIDTH_MAX or key - offset > _WIDTH_MAX:
        return None
    length, key_data = read_varint(data, key)
    value = key_data + max(length, 0)
    length, value_data = read_varint(data, value)
    if value_data + max(length, 0) != start + size - 1 or data[start + size - 1] != 0:
        return None
    places = (timestamp, offset, key, key_data, value, value_data)
    return Shape(size, *(place - start for place in places))


def _behind_varint(data: bytes, position: int) -> int:
    while data[position] > _VARINT_ENDS_MAX:
        position += 1
    return position + 1


def _count_alike(data: bytes, position: int, shape: Shape, count: int) -> int:
    """How many records have the bytes that decide the shape in common with the one before."""
    size = shape.size
    before = position - size
    places = (
        *range(shape.timestamp - 1),
        *range(shape.key, shape.key_data),
        *range(shape.value, shape.value_data),
        size - 1,  # the count of headers, none
    )
    for place in places:
        start = position + place
        column = data[start : start + count * size : size]
        expected = data[before + place : before + place + 1]
        if column != expected * count:
            count = len(column) - len(column.lstrip(expected))
            if count < RUN_RECORDS_MIN:
                return 0
    return count


def _count_with_equal_widths(data: bytes, position: int, shape: Shape, count: int) -> int:
    """How many of the records have a timestamp delta whose varint is as wide as the shape says."""
    size = shape.size
    for place in range(shape.timestamp, shape.offset):
        start = position + place
        allowed = _FIRST_BYTES if place < shape.offset - 1 else _LAST_BYTES
        column = data[start : start + count * size : size]
        count = len(column) - len(column.lstrip(allowed))
    return count


def _are_consecutive(data: bytes, position: int, shape: Shape, count: int, first_delta: int) -> bool:
    size = shape.size
    start = position + shape.offset
    end = start + count * size
    if shape.key - shape.offset == 1:
        return data[start:end:size] == _ONE_BYTE[first_delta : first_delta + count]
    return (
        data[start:end:size] == _LOW[first_delta : first_delta + count]
        and data[start + 1 : end + 1 : size] == _HIGH[first_delta : first_delta + count]
    )


def _timestamps(data: bytes, position: int, shape: Shape, count: int, base_timestamp: int) -> Iterable[int]:
    size = shape.size
    start = position + shape.timestamp
    end = start + count * size
    low = data[start:end:size]
    if shape.offset - shape.timestamp == 1:
        if low == low[:1] * count:
            return repeat(base_timestamp + UNZIGZAG[low[0]], count)
        return [base_timestamp + UNZIGZAG[byte] for byte in low]
    high = data[start + 1 : end + 1 : size]
    deltas = [first & 127 | second << 7 for first, second in zip(low, high, strict=True)]
    return [base_timestamp + ((delta >> 1) ^ -(delta & 1)) for delta in deltas]


def _blobs(
    data: bytes, position: int, shape: Shape, length_at: int, start_at: int, end_at: int, count: int
) -> Iterable[bytes | None]:
    """Keys or values; the shape says where they start and end."""
    size = shape.size
    if end_at == start_at and data[position + length_at] == 1:
        return repeat(None, count)
    length = end_at - start_at
    start = position + start_at
    return [data[at : at + length] for at in range(start, start + count * size, size)]
