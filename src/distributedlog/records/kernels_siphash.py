"""SipHash-2-4 with 128 bits of output (Aumasson and Bernstein), for use inside kernels.

Compaction keeps a hash in place of each key, and takes equal hashes for equal keys. With a secret key of
its own per run, nobody can prepare two keys that collide, and by chance 128 bits do not.

All numbers are int64, which add, shift and wrap as uint64 would; numba turns a mix of both into floats.
"""

from __future__ import annotations

from distributedlog.records.kernels import helper
from distributedlog.records.kernels_memory import load_little_int64, load_uint8


@helper
def _rotate(word: int, bits: int) -> int:
    return (word << bits) | ((word >> (64 - bits)) & ((1 << bits) - 1))


@helper
def _round(v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
    v0 += v1
    v1 = _rotate(v1, 13) ^ v0
    v0 = _rotate(v0, 32)
    v2 += v3
    v3 = _rotate(v3, 16) ^ v2
    v0 += v3
    v3 = _rotate(v3, 21) ^ v0
    v2 += v1
    v1 = _rotate(v1, 17) ^ v2
    v2 = _rotate(v2, 32)
    return v0, v1, v2, v3


@helper
def siphash128(address: int, length: int, key_low: int, key_high: int) -> tuple[int, int]:
    """The first and the second eight bytes of the hash, each read little-endian."""
    v0 = key_low ^ 0x736F6D6570736575
    v1 = key_high ^ 0x646F72616E646F6D ^ 0xEE
    v2 = key_low ^ 0x6C7967656E657261
    v3 = key_high ^ 0x7465646279746573
    tail = address + (length & ~7)
    position = address
    while position < tail:
        word = load_little_int64(position)
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
        position += 8
    word = (length & 0xFF) << 56
    for index in range(length & 7):
        word |= load_uint8(tail + index) << (8 * index)
    v3 ^= word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0 ^= word
    v2 ^= 0xEE
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    first = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xDD
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return first, v0 ^ v1 ^ v2 ^ v3
