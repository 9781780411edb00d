"""Compaction of a buffer of batches: which records survive, and batches made of those.

The caller, who knows segments, transactions and clocks, says per batch what is to become of it; the
records are looked at here, in one of two ways that give the same bytes: by kernels where numba is
installed (`compaction_compiled`), else in Python (`compaction_python`). What follows Kafka:

- A record survives if it has a key and no later record of the same key is in the map; so does every
  record behind the offset up to which the map was built. Offsets never change.
- A batch with survivors keeps its base and last offset, sequence numbers and codec. One without goes,
  unless it is to stay empty, to hold a producer's last sequence number or the log's last offset.
- A tombstone stays for readers until its batch's delete horizon. The first compaction that keeps one
  writes the horizon into the batch, in place of the base timestamp (KIP-534).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributedlog.records.header import Buffer

HASH_KEY_SIZE: Final = 16


class Treatment(IntFlag):
    """What is to become of a batch. Without any flag its records are held against the map."""

    NONE = 0
    KEEP_RECORDS = 1
    """Every record survives: control batches."""
    DISCARD_RECORDS = 2
    """No record survives: aborted transactions, and markers whose time is over."""
    KEEP_EMPTY = 4
    """When no record survives, the batch stays, empty."""
    DROP_TOMBSTONES = 8
    """The delete horizon is past, so that a tombstone goes even where it is a key's last record."""
    SET_HORIZON = 16
    """The batch gets a delete horizon, if it has none: a marker of whose transaction nothing is left."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a buffer was compacted to."""

    batches: bytearray
    records_read: int
    records_kept: int
    records_without_key: int
    """Of those not kept. A compacted topic refuses records without a key, but it may not always have."""


class Compactor(Protocol):
    """The map of one compaction run, and what is done by it. First fill it, then compact by it."""

    latest_offset: int
    """The last offset that the map accounts for; what lies behind survives."""

    @property
    def size(self) -> int:
        """How many keys are in the map."""

    @property
    def keys_max(self) -> int:
        """How many keys the map may come to hold."""

    def map_keys(self, buffer: Buffer, taken: Sequence[bool], start_offset: int) -> int:
        """Note the last offset of the keys in the batches that are taken, from start_offset on.

        `taken` has an entry for each whole batch in the buffer. Returns how many batches the map now
        accounts for; fewer than there are means that it is full. latest_offset is moved along.
        CorruptBatchError when a batch is damaged; what follows the keys only `compact` looks at.
        """

    def compact(self, buffer: Buffer, treatments: Sequence[Treatment], delete_horizon_ms: int) -> Compacted:
        """What survives of the whole batches in the buffer, for each of which there is a treatment.

        delete_horizon_ms goes into the batches that get a horizon in this run.
        """


def make_compactor(memory_size_max: int, hash_key: bytes) -> Compactor:
    """A compactor whose map takes no more than so many bytes.

    hash_key is 16 random bytes, new for every run: keys are told apart by a hash, and who does not know
    hash_key cannot make two keys of the same hash.
    """
    if len(hash_key) != HASH_KEY_SIZE:
        raise ValueError(f"hash_key has {len(hash_key)} bytes, not {HASH_KEY_SIZE}")
    try:
        from distributedlog.records.compaction_compiled import CompiledCompactor  # noqa: PLC0415
    except ImportError:
        from distributedlog.records.compaction_python import PythonCompactor  # noqa: PLC0415

        return PythonCompactor(memory_size_max, hash_key)
    return CompiledCompactor(memory_size_max, hash_key)


def check_entries(given: int, batches: int) -> None:
    """ValueError unless there is an entry for each whole batch."""
    if given != batches:
        raise ValueError(f"{given} entries were given for {batches} batches")
