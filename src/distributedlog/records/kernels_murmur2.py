"""The partitions of a whole column of keys: Kafka's murmur2, so that a key goes where every client puts it.

The hash is of 32 bits without a sign; numbers here are int64, cut to 32 bits after each product, since
numba turns a mix of signed and unsigned into floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from distributedlog.records.errors import InvalidRecordError
from distributedlog.records.kernels import BYTES_IN, INT32_IN, INT32_OUT, INT64, helper, kernel
from distributedlog.records.kernels_memory import address_of, load_int32, load_uint8

if TYPE_CHECKING:
    import numpy.typing as npt

HELPERS: Final = "48065e4a057da8d4"

NO_KEY: Final = -1
"""The partition of a null key: whoever asks may choose."""

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_UINT32: Final = 0xFFFFFFFF


def murmur2_partitions(
    offsets: npt.NDArray[np.int32],
    data: npt.NDArray[np.uint8],
    validity: npt.NDArray[np.bool_] | None,
    count: int,
) -> npt.NDArray[np.int32]:
    """For each key of an Arrow binary column its partition among `count`, `NO_KEY` for a null.

    `offsets` has one entry more than there are keys; `validity` is true where there is a key, None where
    there is one everywhere.
    """
    if count < 1:
        raise ValueError(f"a topic has at least one partition, not {count}")
    lengths = np.diff(offsets)
    if len(lengths) and (offsets[0] < 0 or offsets[-1] > len(data) or lengths.min() < 0):
        raise InvalidRecordError("the offsets of the keys point outside of their data")
    if validity is not None:
        lengths[~validity] = -1
    return murmur2_partitions_of(offsets[:-1], lengths, data, count)


def murmur2_partitions_of(
    starts: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32], data: npt.NDArray[np.uint8], count: int
) -> npt.NDArray[np.int32]:
    """The same for keys anywhere in `data`; a length of -1 is a null. The caller vouches for bounds."""
    partitions = np.empty(len(lengths), np.int32)
    _partitions(starts, lengths, data, count, partitions)
    return partitions


@helper
def _product(left: int, right: int) -> int:
    return (left * right) & 0xFFFFFFFF


@helper
def _little(word: int) -> int:
    """A word that was read big-endian, the other way round; the compiler makes one load of both."""
    high = ((word & 0xFF) << 24) | ((word & 0xFF00) << 8)
    return high | ((word >> 8) & 0xFF00) | (word >> 24)


@helper
def _murmur2(address: int, length: int) -> int:
    value = (_SEED ^ length) & _UINT32
    words_end = address + (length & ~3)
    while address < words_end:
        word = _product(_little(load_int32(address) & _UINT32), _MULTIPLIER)
        word = _product(word ^ (word >> 24), _MULTIPLIER)
        value = _product(value, _MULTIPLIER) ^ word
        address += 4
    rest = length & 3
    if rest:
        for index in range(rest):
            value ^= load_uint8(address + index) << (8 * index)
        value = _product(value, _MULTIPLIER)
    value ^= value >> 13
    value = _product(value, _MULTIPLIER)
    return value ^ (value >> 15)


@kernel(INT32_IN, INT32_IN, BYTES_IN, INT64, INT32_OUT)
def _partitions(starts: Any, lengths: Any, data: Any, count: int, partitions: Any) -> None:
    base = address_of(data)
    for row in range(len(lengths)):
        length = lengths[row]
        if length < 0:
            partitions[row] = -1
        else:
            partitions[row] = (_murmur2(base + starts[row], length) & 0x7FFFFFFF) % count
