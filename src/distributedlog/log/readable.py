"""Reading an embedded log: the face that the writer's `Log` and any `LogReader` share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distributedlog.log.files import FileRegion
from distributedlog.log.record_reading import read_records
from distributedlog.records import Record

if TYPE_CHECKING:
    import pyarrow


class ReadableLog(ABC):
    """What can be asked of a log, whoever writes it."""

    def read(self, start_offset: int | None = None, end_offset: int | None = None) -> Iterator[Record]:
        """Iterate over the records from ``start_offset`` (the oldest by default) to the end.

        The iteration ends where the log ends when it gets there; ``end_offset`` is exclusive.
        """
        return read_records(self._fetch, self._checked_start(start_offset), end_offset)

    def get(self, offset: int) -> Record | None:
        """One record; None when compaction has taken it, or when there is none yet at the log's end."""
        record = next(self.read(offset, offset + 1), None)
        return None if record is None or record.offset != offset else record

    def read_arrow(
        self,
        start_offset: int | None = None,
        end_offset: int | None = None,
        *,
        columns: tuple[str, ...] | None = None,
    ) -> "pyarrow.Table":
        """The records as one Arrow table; needs ``pip install distributedlog[arrow]``."""
        from distributedlog.log.arrow_reading import table_of  # noqa: PLC0415 (the extra `arrow`)

        return table_of(self.read_arrow_batches(start_offset, end_offset, columns=columns), columns)

    def read_arrow_batches(
        self,
        start_offset: int | None = None,
        end_offset: int | None = None,
        *,
        columns: tuple[str, ...] | None = None,
    ) -> "Iterator[pyarrow.RecordBatch]":
        """The same piece by piece, a few megabytes each, for logs larger than memory."""
        from distributedlog.log.arrow_reading import checked_columns, read_columns  # noqa: PLC0415

        return read_columns(
            self._fetch, self._checked_start(start_offset), end_offset, checked_columns(columns)
        )

    def offset_for_time(self, timestamp: int) -> int | None:
        """The offset of the first record whose timestamp, in milliseconds, is at least this; or None."""
        if not isinstance(timestamp, int):
            raise TypeError(f"a timestamp is a number of milliseconds, an int, not {timestamp!r:.80}")
        return self._find_time(timestamp)

    @abstractmethod
    def _checked_start(self, start_offset: int | None) -> int:
        """Where to begin; OffsetOutOfRange for an offset that the log does not have."""

    @abstractmethod
    def _fetch(self, offset: int, bytes_max: int) -> tuple[int, FileRegion] | None:
        """See `record_reading.Fetch`."""

    @abstractmethod
    def _find_time(self, timestamp: int) -> int | None: ...
