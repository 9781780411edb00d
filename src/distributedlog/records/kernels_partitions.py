"""Kernels that say which partition each row of a column goes to, and gather rows by partition.

The hash is the murmur2 of Kafka's clients, so that a row's key chooses the partition that the Java client
chooses for it.
"""

from __future__ import annotations

from typing import Any, Final

from distributedlog.records.kernels import BYTES_IN, INT32_IN, INT32_OUT, INT64, INT64_OUT, kernel

HELPERS: Final = "ecb33796ab695bf6"

NO_PARTITION: Final = -1
_NO_PARTITION: Final = NO_PARTITION
_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_UINT32: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF


@kernel(INT32_IN, INT32_IN, BYTES_IN, INT64, INT32_OUT)
def partition_by_murmur2(starts: Any, lengths: Any, data: Any, partition_count: int, partitions: Any) -> int:
    """Fill in a partition for each key, -1 without one. Returns the first row whose key is damaged, or -1."""
    size = data.shape[0]
    for row in range(starts.shape[0]):
        start = starts[row]
        length = lengths[row]
        if length < 0:
            partitions[row] = _NO_PARTITION
            continue
        if start < 0 or length > size - start:
            return row
        value = (_SEED ^ length) & _UINT32
        words = length >> 2
        for word in range(words):
            place = start + 4 * word
            mixed = (
                data[place] | data[place + 1] << 8 | data[place + 2] << 16 | data[place + 3] << 24
            ) * _MULTIPLIER & _UINT32
            mixed ^= mixed >> 24
            value = (value * _MULTIPLIER & _UINT32) ^ (mixed * _MULTIPLIER & _UINT32)
        rest = length & 3
        if rest > 0:
            place = start + 4 * words
            if rest == 3:
                value ^= data[place + 2] << 16
            if rest >= 2:
                value ^= data[place + 1] << 8
            value = (value ^ data[place]) * _MULTIPLIER & _UINT32
        value ^= value >> 13
        value = value * _MULTIPLIER & _UINT32
        value ^= value >> 15
        partitions[row] = (value & _POSITIVE) % partition_count
    return -1


@kernel(INT32_IN, INT64_OUT, INT64_OUT)
def group_by_partition(partitions: Any, bounds: Any, rows: Any) -> int:
    """Order the rows by partition, and in a partition as they came.

    ``bounds`` has one place more than there are partitions and comes as zeros: partition p gets
    ``rows[bounds[p]:bounds[p + 1]]``. Returns the first row whose partition does not exist, or -1.
    """
    count = bounds.shape[0] - 1
    for row in range(partitions.shape[0]):
        partition = partitions[row]
        if partition < 0 or partition >= count:
            return row
        bounds[partition + 1] += 1
    for partition in range(count):
        bounds[partition + 1] += bounds[partition]
    for row in range(partitions.shape[0]):
        partition = partitions[row]
        rows[bounds[partition]] = row
        bounds[partition] += 1
    for partition in range(count, 0, -1):
        bounds[partition] = bounds[partition - 1]
    bounds[0] = 0
    return -1
