"""[pure] Which partition a record goes to: Kafka's own choice, so that a key keeps its partition.

With a key, murmur2 of it; without one, the same partition until its batch is full, then another, so
that batches are large (KIP-480).
"""

from struct import Struct
from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_UINT32_MAX: Final = 0xFFFFFFFF
_WORD: Final = Struct("<I")


def murmur2(data: bytes) -> int:
    """The 32-bit hash of Kafka's clients, without a sign."""
    length = len(data)
    value = _SEED ^ length
    words_end = length & ~3
    for (word,) in _WORD.iter_unpack(data[:words_end]):
        mixed = (word * _MULTIPLIER) & _UINT32_MAX
        mixed ^= mixed >> 24
        value = ((value * _MULTIPLIER) & _UINT32_MAX) ^ ((mixed * _MULTIPLIER) & _UINT32_MAX)
    if length > words_end:
        value ^= int.from_bytes(data[words_end:], "little")
        value = (value * _MULTIPLIER) & _UINT32_MAX
    value ^= value >> 13
    value = (value * _MULTIPLIER) & _UINT32_MAX
    return value ^ (value >> 15)


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a key. It changes when partitions are added, as it does in Kafka."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count
