"""Snappy in a batch: the framing of Java's xerial library, or one raw block.

Java's clients write xerial framing: a 16-byte header, then blocks of up to 32 KiB of input, each a
big-endian int32 length and that many bytes of raw snappy. Some other clients write one raw block with
nothing around it. Both are read; the framing is written.

A raw block begins with its decompressed length, so that its output is known before anything is allocated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cramjam

from distributedlog.records.errors import CorruptBatchError

if TYPE_CHECKING:
    from distributedlog.records.header import Buffer

_MAGIC: Final = b"\x82SNAPPY\x00"
_FRAMING_HEADER: Final = _MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"  # version 1, readable by version 1
_BLOCK_SIZE: Final = 32 * 1024
_EXPANSION_MAX: Final = 64
"""No snappy element makes more than 64 bytes, and none is shorter than one byte."""


def compress_snappy(data: Buffer) -> bytes:
    parts = [_FRAMING_HEADER]
    with memoryview(data) as view:
        for position in range(0, len(view), _BLOCK_SIZE):
            block = bytes(cramjam.snappy.compress_raw(view[position : position + _BLOCK_SIZE]))
            parts += (len(block).to_bytes(4), block)
    return b"".join(parts)


def decompress_snappy(data: bytes, size_max: int) -> bytes:
    """The content of either form. CorruptBatchError when damaged or above `size_max`."""
    if not data.startswith(_MAGIC):
        return _decompress_block(data, size_max)
    end = len(data)
    position = len(_FRAMING_HEADER)
    if end < position:
        raise CorruptBatchError(f"snappy framing of {end} bytes ends inside its header")
    parts: list[bytes] = []
    while position < end:
        block_size = int.from_bytes(data[position : position + 4])
        position += 4
        if block_size > end - position:
            raise CorruptBatchError(
                f"snappy block of {block_size} bytes, where {max(end - position, 0)} are left"
            )
        part = _decompress_block(data[position : position + block_size], size_max)
        parts.append(part)
        position += block_size
        size_max -= len(part)
    return b"".join(parts)


def _decompress_block(block: bytes, size_max: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > size_max:
            raise CorruptBatchError(f"snappy block expands to {size} bytes, {size_max} are allowed")
        if size > len(block) * _EXPANSION_MAX:
            raise CorruptBatchError(f"snappy block of {len(block)} bytes cannot expand to {size}")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptBatchError(f"damaged snappy block: {error}") from None
