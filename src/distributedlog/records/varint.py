"""Zigzag varints, the only integers inside a record: small magnitudes, of either sign, take one byte.

A value is first folded so that its sign is the lowest bit (0, -1, 1, -2 … become 0, 1, 2, 3 …), then
written seven bits a byte, the lowest first, with the top bit set on every byte but the last.
"""

from __future__ import annotations

from typing import Final

from distributedlog.records.errors import CorruptBatchError

VARINT_SIZE_MAX: Final = 5
VARLONG_SIZE_MAX: Final = 10


def encode_varint(value: int) -> bytes:
    """The zigzag varint of a number of at most 64 bits."""
    folded = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while folded > 0x7F:
        encoded.append(folded & 0x7F | 0x80)
        folded >>= 7
    encoded.append(folded)
    return bytes(encoded)


_TWO_BYTES_END: Final = 1 << 13

VARINT: Final = tuple(
    (number << 1).to_bytes(1)
    if number < 64
    else (number << 1 & 0x7F | 0x80 | number >> 6 << 8).to_bytes(2, "little")
    for number in range(_TWO_BYTES_END)
)
"""`VARINT[number]` is the number's encoding, for the lengths and offset deltas of one and two bytes.

A twentieth of the cost of `encode_varint`. Larger numbers raise IndexError; a negative index would give
the encoding of another number.
"""

UNZIGZAG: Final = tuple((byte >> 1) ^ -(byte & 1) for byte in range(128))
"""The value of each one-byte varint."""


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """(value, position behind it) of an int32; IndexError at the end of the data is the caller's."""
    value, position = _read(data, position, VARINT_SIZE_MAX)
    if value >> 32:
        raise CorruptBatchError(f"varint before position {position} does not fit 32 bits")
    return (value >> 1) ^ -(value & 1), position


def read_varlong(data: bytes, position: int) -> tuple[int, int]:
    """(value, position behind it) of an int64; IndexError at the end of the data is the caller's."""
    value, position = _read(data, position, VARLONG_SIZE_MAX)
    if value >> 64:
        raise CorruptBatchError(f"varint before position {position} does not fit 64 bits")
    return (value >> 1) ^ -(value & 1), position


def _read(data: bytes, position: int, size_max: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * size_max, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise CorruptBatchError(f"varint before position {position} is longer than {size_max} bytes")
