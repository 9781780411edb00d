"""[pure] Confluent's wire format: a zero byte and the schema's id before the payload.

For Protobuf there follows which message of the file it is, as a path of indexes, each a zigzag varint,
their number first; the path [0], the usual one, is written as a single zero.
"""

from struct import Struct
from typing import Final

MAGIC: Final = 0
PREFIX: Final = Struct(">bi")


class NotFramed(ValueError):
    """A payload does not begin with Confluent's prefix."""


def split(payload: bytes) -> tuple[int, memoryview]:
    """The schema's id, and what follows it."""
    if len(payload) < PREFIX.size or payload[0] != MAGIC:
        raise NotFramed("a payload does not begin with the magic byte and the id of a schema")
    return PREFIX.unpack_from(payload)[1], memoryview(payload)[PREFIX.size :]


def frame(schema_id: int) -> bytes:
    return PREFIX.pack(MAGIC, schema_id)


def split_indexes(payload: memoryview) -> tuple[list[int], memoryview]:
    """The path to the message, and the message's own bytes."""
    count, position = _varint(payload, 0)
    if count == 0:
        return [0], payload[position:]
    indexes = []
    if not 0 < count <= len(payload):
        raise NotFramed("a payload names an impossible path to its message")
    for _ in range(count):
        index, position = _varint(payload, position)
        indexes.append(index)
    return indexes, payload[position:]


def frame_indexes(indexes: list[int]) -> bytes:
    if indexes == [0]:
        return b"\0"
    return b"".join(_zigzag(number) for number in (len(indexes), *indexes))


def _varint(payload: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(payload) or shift > 28:
            raise NotFramed("a payload's path to its message cannot be read")
        byte = payload[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7


def _zigzag(number: int) -> bytes:
    value = number << 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
