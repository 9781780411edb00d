"""Compressing the records of a batch, and expanding them without trusting them.

What comes from outside may be a bomb: a kilobyte that expands to gigabytes. So every expansion has a
cap, and output goes into buffers of our own that grow by doubling up to the cap and never beyond it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cramjam

from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import Compression
from distributedlog.records.snappy import compress_snappy, decompress_snappy

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributedlog.records.header import Buffer

DECOMPRESSED_SIZE_MAX: Final = 64 * 1024 * 1024
"""The default cap: 64 times the default of max.message.bytes, which limits the compressed size."""

_GZIP_LEVEL: Final = 6
_LZ4_LEVEL: Final = 1
_ZSTD_LEVEL: Final = 3
_FIRST_BUFFER_SIZE_MIN: Final = 64 * 1024
_FIRST_BUFFER_EXPANSION: Final = 8
_BUFFER_IS_FULL: Final = "failed to write whole buffer"


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """`data` in the form that Java's clients write for this codec; `level` for the codecs that have one."""
    if codec == Compression.NONE:
        return bytes(data)
    if codec == Compression.GZIP:
        return bytes(cramjam.gzip.compress(data, _GZIP_LEVEL if level is None else level))
    if codec == Compression.SNAPPY:
        return compress_snappy(data)
    if codec == Compression.LZ4:
        # Independent blocks: Java's reader refuses the linked ones that cramjam's one-shot call writes.
        compressor = cramjam.lz4.Compressor(
            level=_LZ4_LEVEL if level is None else level, content_checksum=False, block_linked=False
        )
        compressor.compress(bytes(data))
        return bytes(compressor.finish())
    if codec == Compression.ZSTD:
        return bytes(cramjam.zstd.compress(data, _ZSTD_LEVEL if level is None else level))
    raise ValueError(f"there is no compression {codec}")


def decompress(codec: int, data: Buffer, size_max: int = DECOMPRESSED_SIZE_MAX) -> bytes:
    """The content of `data`. CorruptBatchError when it is damaged or expands to more than `size_max`."""
    if codec == Compression.NONE:
        if len(data) > size_max:
            raise CorruptBatchError(f"records of {len(data)} bytes, {size_max} are allowed")
        return bytes(data)
    if codec == Compression.GZIP:
        return _expand(cramjam.gzip.decompress_into, data, size_max, "gzip")
    if codec == Compression.SNAPPY:
        return decompress_snappy(bytes(data), size_max)
    if codec == Compression.LZ4:
        return _expand(cramjam.lz4.decompress_into, data, size_max, "lz4")
    if codec == Compression.ZSTD:
        return _expand(cramjam.zstd.decompress_into, data, size_max, "zstd")
    raise CorruptBatchError(f"records name compression {codec}, which does not exist")


def _expand(
    decompress_into: Callable[[Buffer, bytearray], int], data: Buffer, size_max: int, name: str
) -> bytes:
    """Expand into a buffer, and again into one of twice the size while it turns out to be too small."""
    buffer_size = min(max(len(data) * _FIRST_BUFFER_EXPANSION, _FIRST_BUFFER_SIZE_MIN), size_max)
    while True:
        output = bytearray(buffer_size)
        try:
            size = decompress_into(data, output)
        except cramjam.DecompressionError as error:
            if str(error) != _BUFFER_IS_FULL:
                raise CorruptBatchError(f"damaged {name} data: {error}") from None
        else:
            with memoryview(output) as view:
                return bytes(view[:size])
        if buffer_size >= size_max:
            raise CorruptBatchError(f"{name} data expands to more than the {size_max} bytes allowed")
        buffer_size = min(buffer_size * 2, size_max)
