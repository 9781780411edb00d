"""Arrow arrays under construction: memory from Arrow's own pool that kernels write into.

Memory is taken for the most that could come and given back down to what did. What was never written to
was never really there, so a generous estimate costs nothing but address space. A column that is not
wanted is made all the same, empty, so that a kernel always gets its arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

_ALL_VALID: Final = 0xFF


class FixedColumn:
    """A column of equally wide values that is never null."""

    __slots__ = ("_buffer", "_data_type", "values")

    def __init__(
        self, data_type: pa.DataType, number_type: npt.DTypeLike, rows_max: int, is_wanted: bool = True
    ) -> None:
        rows_max = rows_max if is_wanted else 0
        self._data_type = data_type
        self._buffer = pa.allocate_buffer(rows_max * np.dtype(number_type).itemsize, resizable=True)
        self.values: npt.NDArray[Any] = np.frombuffer(self._buffer, number_type)

    def finish(self, rows: int) -> pa.Array:
        """The array of the first rows. Nothing may be written afterwards."""
        size = rows * self.values.itemsize
        del self.values
        self._buffer.resize(size, shrink_to_fit=True)
        return pa.Array.from_buffers(self._data_type, rows, [None, self._buffer], null_count=0)


class BinaryColumn:
    """A column of byte strings, of which some may be null."""

    __slots__ = ("_data_buffer", "_data_type", "_offsets_buffer", "data", "is_wanted", "offsets", "validity")

    def __init__(self, data_type: pa.DataType, rows_max: int, size_max: int, is_wanted: bool = True) -> None:
        rows_max = rows_max if is_wanted else 0
        self.is_wanted = is_wanted
        self._data_type = data_type
        self._offsets_buffer = pa.allocate_buffer((rows_max + 1) * 4, resizable=True)
        self._data_buffer = pa.allocate_buffer(size_max if is_wanted else 0, resizable=True)
        self.offsets: npt.NDArray[np.int32] = np.frombuffer(self._offsets_buffer, np.int32)
        self.offsets[0] = 0
        self.data: npt.NDArray[np.uint8] = np.frombuffer(self._data_buffer, np.uint8)
        self.validity: npt.NDArray[np.uint8] = all_valid(rows_max)

    def finish(self, rows: int, size: int, nulls: int) -> pa.Array:
        """The array of the first rows, which take `size` bytes. Nothing may be written afterwards."""
        del self.offsets, self.data
        self._offsets_buffer.resize((rows + 1) * 4, shrink_to_fit=True)
        self._data_buffer.resize(size, shrink_to_fit=True)
        validity = pa.py_buffer(self.validity) if nulls else None
        buffers = [validity, self._offsets_buffer, self._data_buffer]
        return pa.Array.from_buffers(self._data_type, rows, buffers, null_count=nulls)


def all_valid(rows: int) -> npt.NDArray[np.uint8]:
    """A validity bitmap in which no row is null yet."""
    return np.full((rows + 7) // 8, _ALL_VALID, np.uint8)
