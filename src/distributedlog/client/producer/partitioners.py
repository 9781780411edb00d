"""[pure] Which partition a record goes to.

A partitioner takes topic, key and number of partitions and returns an index, or None: "wherever". The
producer then fills one partition's batch after another, so that batches are large (KIP-480).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final, TypeAlias

from distributedlog.client.errors import InvalidOption

Partitioner: TypeAlias = "Callable[[str, bytes | None, int], int | None]"

_POSITIVE: Final = 0x7FFFFFFF
_UINT32_MAX: Final = 0xFFFFFFFF
_SEED2: Final = 0x9747B28C
_MULTIPLIER2: Final = 0x5BD1E995
_WORD: Final = Struct("<I")


def by_murmur2(topic: str, key: bytes | None, partition_count: int) -> int | None:
    """Kafka's default: the partition that the Java client chooses for a key, wherever without one."""
    if key is None:
        return None
    return (murmur2(key) & _POSITIVE) % partition_count


def by_murmur3(topic: str, key: bytes | None, partition_count: int) -> int | None:
    """MurmurHash3 of the key (x86, 32 bits, seed 0)."""
    if key is None:
        return None
    return (murmur3(key) & _POSITIVE) % partition_count


def by_md5(topic: str, key: bytes | None, partition_count: int) -> int | None:
    """The first four bytes of the key's MD5."""
    if key is None:
        return None
    digest = hashlib.md5(key, usedforsecurity=False).digest()
    return int.from_bytes(digest[:4]) % partition_count


def sticky(topic: str, key: bytes | None, partition_count: int) -> int | None:
    """Wherever, whatever the key: the largest batches, and no order between records of a key."""
    return None


def load_aware(topic: str, key: bytes | None, partition_count: int) -> int | None:
    """A key's partition as by default; "wherever" is where the leader has least to do: see ``load``."""
    return by_murmur2(topic, key, partition_count)


class RoundRobin:
    """One partition after the other, record by record, whatever the key."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def __call__(self, topic: str, key: bytes | None, partition_count: int) -> int | None:
        return self.take(topic, 1) % partition_count

    def take(self, topic: str, count: int) -> int:
        """The number of the next record, of `count` that are numbered now."""
        number = self._next.get(topic, 0)
        self._next[topic] = number + count
        return number


_BY_NAME: Final[Mapping[str, Callable[[], Partitioner]]] = {
    "default": lambda: by_murmur2,
    "murmur2": lambda: by_murmur2,
    "murmur3": lambda: by_murmur3,
    "md5": lambda: by_md5,
    "sticky": lambda: sticky,
    "round_robin": RoundRobin,
    "load_aware": lambda: load_aware,
}

IS_DECIDED_BY_KEY: Final = frozenset({by_murmur2, by_murmur3, by_md5, sticky, load_aware})
"""Without a key they do not choose, and a key has its partition for ever."""


def partitioner_of(choice: object) -> Partitioner:
    """The partitioner of this name, or the callable itself."""
    if isinstance(choice, str):
        if choice in _BY_NAME:
            return _BY_NAME[choice]()
        raise InvalidOption(
            f"there is no partitioner {choice!r}; there are {', '.join(_BY_NAME)}, and callables"
        )
    if callable(choice):
        return choice
    raise InvalidOption(f"partitioner is {choice!r}, neither a name nor a callable")


def is_by_murmur2(partitioner: Partitioner) -> bool:
    """Whether its keys go where Kafka's default has them go."""
    return partitioner in {by_murmur2, load_aware}


def murmur2(data: bytes) -> int:
    """The 32-bit hash of Kafka's clients, without a sign."""
    length = len(data)
    value = _SEED2 ^ length
    words_end = length & ~3
    for (word,) in _WORD.iter_unpack(data[:words_end]):
        mixed = word * _MULTIPLIER2 & _UINT32_MAX
        mixed ^= mixed >> 24
        value = (value * _MULTIPLIER2 & _UINT32_MAX) ^ (mixed * _MULTIPLIER2 & _UINT32_MAX)
    if length > words_end:
        value ^= int.from_bytes(data[words_end:], "little")
        value = value * _MULTIPLIER2 & _UINT32_MAX
    value ^= value >> 13
    value = value * _MULTIPLIER2 & _UINT32_MAX
    return value ^ value >> 15


def murmur3(data: bytes, seed: int = 0) -> int:
    """The 32-bit hash of MurmurHash3, without a sign."""
    value = seed
    words_end = len(data) & ~3
    for position in range(0, words_end, 4):
        value ^= _mixed3(int.from_bytes(data[position : position + 4], "little"))
        value = _rotated(value, 13) * 5 + 0xE6546B64 & _UINT32_MAX
    if words_end < len(data):
        value ^= _mixed3(int.from_bytes(data[words_end:], "little"))
    value ^= len(data)
    value = (value ^ value >> 16) * 0x85EBCA6B & _UINT32_MAX
    value = (value ^ value >> 13) * 0xC2B2AE35 & _UINT32_MAX
    return value ^ value >> 16


def _mixed3(word: int) -> int:
    return _rotated(word * 0xCC9E2D51 & _UINT32_MAX, 15) * 0x1B873593 & _UINT32_MAX


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _UINT32_MAX
