"""The rows of a table by partition: a counting sort, which keeps the order of rows in a partition."""

from __future__ import annotations

from typing import Any, Final

from distributedlog.records.kernels import INT32_IN, INT64_OUT, kernel

HELPERS: Final = "ecb33796ab695bf6"


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
