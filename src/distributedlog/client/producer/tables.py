"""[pure] From a table to batches for lanes, chunk by chunk, and never a Python object for a record.

A chunk is as much as makes one good batch for each partition that it may go to. Rows without a key and
without a partition all go to one partition, and those of the next chunk to another: so what a partition
gets stands there in the table's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

try:
    import numpy as np
    import pyarrow as pa

    from distributedlog.records.columns_rows import (
        RECORD_OVERHEAD_MAX,
        between,
        build_batches,
        chosen,
        sizes_of,
    )
    from distributedlog.records.kernels_murmur2 import NO_KEY, murmur2_partitions_of
    from distributedlog.records.kernels_partitions import group_by_partition
except ImportError as missing:
    raise ImportError(
        "send_table needs numba, numpy and pyarrow, which are not all installed: "
        "pip install 'distributedlog[arrow]'"
    ) from missing

from distributedlog.client.errors import InvalidOption, RecordTooLarge
from distributedlog.client.producer.partitioners import (
    IS_DECIDED_BY_KEY,
    RoundRobin,
    is_by_murmur2,
    sticky,
)
from distributedlog.client.producer.table_batch import TableBatch
from distributedlog.records import InvalidRecordError
from distributedlog.records.columns_from_arrow import BytesColumn, RecordColumns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from distributedlog.client.producer.accumulator import Accumulator, TopicLanes
    from distributedlog.client.producer.batch import Batch
    from distributedlog.client.producer.lane import Lane
    from distributedlog.client.producer.partitioners import Partitioner
    from distributedlog.client.producer.settings import ProducerSettings

_CHUNK_MAX: Final = 8 * 1024 * 1024
_OVERHEAD_USUAL: Final = 12
"""Of a record of some hundred bytes; a chunk that takes a little more still makes one batch."""

_PIECE_MIN: Final = 4 * 1024 * 1024
"""Smaller pieces of a table on average are put together first; larger ones are not worth the copy."""

_COLUMNS: Final = ("value", "key", "headers", "timestamp")


def arrow_table(table: Any) -> pa.Table:
    """Of Arrow, pandas and polars: whatever can be read as columns without looking at each value."""
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, pa.RecordBatchReader):
        return table.read_all()
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    if type(table).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(table, preserve_index=False)
    raise InvalidOption(
        f"send_table takes an Arrow table, a pandas or a polars data frame, not {type(table).__name__}"
    )


class TableRows:
    """One table on its way into batches. ``names`` are the columns' names by what they hold."""

    def __init__(
        self,
        table: Any,
        names: Mapping[str, str | None],
        partition: int | str | None,
        timestamp_ms: int,
        settings: ProducerSettings,
        partitioner: Partitioner,
    ) -> None:
        self._settings = settings
        self._partitioner = partitioner
        self._timestamp_ms = timestamp_ms
        table = arrow_table(table)
        self.rows: int = table.num_rows
        self._fixed_partition = partition if isinstance(partition, int) else None
        self._parts = _records_of(table, names)
        self._partition_parts = None
        where = partition if isinstance(partition, str) else None
        if where is None and partition is None and "partition" in table.schema.names:
            where = "partition"
        if where is not None:
            self._partition_parts = _integers(table, where)

    def batches(self, accumulator: Accumulator, lanes: TopicLanes) -> Iterator[list[Batch]]:
        """Chunk by chunk, what to hand to `Accumulator.add_waiting`."""
        settings = self._settings
        partition_count = len(lanes.lanes)
        spread = 1 if self._goes_to_one_partition() else partition_count
        size = min(settings.table_batch_size * spread, _CHUNK_MAX, max(settings.buffer_memory // 4, 1))
        first_row = 0
        for part in self._parts:
            columns = _columns_of(part, self._timestamp_ms)
            sizes = sizes_of(columns)
            self._check_sizes(lanes.name, sizes, first_row)
            ends = np.cumsum(sizes - (RECORD_OVERHEAD_MAX - _OVERHEAD_USUAL))
            start = 0
            while start < part.num_rows:
                before = int(ends[start - 1]) if start else 0
                end = max(int(np.searchsorted(ends, before + size, side="right")), start + 1)
                rows = between(columns, start, end)
                yield self._chunk(accumulator, lanes, rows, part, first_row + start)
                start = end
            first_row += part.num_rows

    def _goes_to_one_partition(self) -> bool:
        if self._fixed_partition is not None:
            return True
        if self._partition_parts is not None:
            return False
        if self._partitioner is sticky:
            return True
        has_keys = any("key" in part.schema.names for part in self._parts)
        return not has_keys and self._partitioner in IS_DECIDED_BY_KEY

    def _chunk(
        self, accumulator: Accumulator, lanes: TopicLanes, rows: RecordColumns, part: Any, first_row: int
    ) -> list[Batch]:
        count = len(lanes.lanes)
        places = self._places(lanes, rows, first_row)
        if isinstance(places, int):
            return self._batches_of(lanes.lanes[places], rows)
        bounds = np.zeros(count + 1, np.int64)
        order = np.empty(len(places), np.int64)
        wrong = group_by_partition(places, bounds, order)
        if wrong >= 0:
            raise InvalidOption(
                f"row {first_row + wrong} names partition {int(places[wrong])} of topic {lanes.name!r}, "
                f"which has {count}, numbered from 0"
            )
        batches: list[Batch] = []
        for index in range(count):
            wanted = order[bounds[index] : bounds[index + 1]]
            if len(wanted):
                batches += self._batches_of(lanes.lanes[index], chosen(rows, wanted))
        return batches

    def _batches_of(self, lane: Lane, rows: RecordColumns) -> list[Batch]:
        settings = self._settings
        size_max = min(settings.table_batch_size + settings.table_batch_size // 8, settings.max_request_size)
        built = build_batches(rows, size_max, settings.compression_codec, settings.compression_level)
        return [TableBatch(lane, unsealed) for unsealed in built]

    def _places(self, lanes: TopicLanes, rows: RecordColumns, first_row: int) -> npt.NDArray[np.int32] | int:
        """A partition for each row, or one for all of them."""
        count = len(lanes.lanes)
        number = len(rows.timestamps)
        places: npt.NDArray[np.int32]
        if self._fixed_partition is not None:
            if not 0 <= self._fixed_partition < count:
                raise InvalidOption(
                    f"there is no partition {self._fixed_partition} of topic {lanes.name!r}: "
                    f"it has {count}, numbered from 0"
                )
            return self._fixed_partition
        if self._partition_parts is not None:
            places = self._partition_parts[first_row : first_row + number]
            unset = places == NO_KEY
            if unset.any():
                places = places.copy()
                places[unset] = self._by_partitioner(lanes, rows)[unset]
        else:
            places = self._by_partitioner(lanes, rows)
        anywhere = places == NO_KEY
        if anywhere.any():
            somewhere = lanes.sticky.partition.partition
            self._move_on(lanes)
            if anywhere.all():
                return somewhere
            places[anywhere] = somewhere
        return places

    def _move_on(self, lanes: TopicLanes) -> None:
        choose = lanes.lanes[0].accumulator.choose
        with lanes.lanes[0].accumulator.lock:
            lanes.sticky = choose(lanes.lanes)

    def _by_partitioner(self, lanes: TopicLanes, rows: RecordColumns) -> npt.NDArray[np.int32]:
        number, count, partitioner = len(rows.timestamps), len(lanes.lanes), self._partitioner
        places = np.full(number, NO_KEY, np.int32)
        keys = rows.keys
        if partitioner is sticky:
            return places
        if isinstance(partitioner, RoundRobin):
            return ((partitioner.take(lanes.name, number) + np.arange(number)) % count).astype(np.int32)
        if is_by_murmur2(partitioner):
            last = keys.starts.astype(np.int64) + keys.lengths
            if number and (keys.starts.min() < 0 or last.max() > len(keys.data)):
                raise InvalidRecordError("the offsets of the keys point outside of their data")
            return murmur2_partitions_of(keys.starts, keys.lengths, keys.data, count)
        return self._by_callable(lanes.name, count, keys)

    def _by_callable(self, topic: str, count: int, keys: BytesColumn) -> npt.NDArray[np.int32]:
        """One call for each key where the key decides; a callable of one's own is asked for each row."""
        partitioner = self._partitioner
        remembered: dict[bytes | None, int] = {}
        is_decided_by_key = partitioner in IS_DECIDED_BY_KEY
        data = keys.data.data
        places = np.empty(len(keys.starts), np.int32)
        pairs = zip(keys.starts.tolist(), keys.lengths.tolist(), strict=True)
        for row, (start, length) in enumerate(pairs):
            key = None if length < 0 else bytes(data[start : start + length])
            place = remembered.get(key) if is_decided_by_key else None
            if place is None:
                chosen_one = partitioner(topic, key, count)
                place = NO_KEY if chosen_one is None else chosen_one
                if is_decided_by_key:
                    remembered[key] = place
            places[row] = place
        return places

    def _check_sizes(self, topic: str, sizes: npt.NDArray[np.int64], first_row: int) -> None:
        settings = self._settings
        size_max = min(settings.max_request_size, settings.buffer_memory)
        if len(sizes) and int(sizes.max()) > size_max:
            row = int(np.argmax(sizes > size_max))
            name = "max_request_size" if size_max == settings.max_request_size else "buffer_memory"
            raise RecordTooLarge(
                f"row {first_row + row} for {topic!r} takes up to {int(sizes[row])} bytes, more than "
                f"{name}={size_max}: raise {name}, and max.message.bytes of the topic where it is smaller"
            )


def _records_of(table: pa.Table, names: Mapping[str, str | None]) -> list[pa.RecordBatch]:
    """The columns that records have, under the names that the encoder knows them by."""
    present = table.schema.names
    found = {}
    for role in _COLUMNS:
        name = names.get(role)
        if name is None and role not in present:
            continue
        name = name or role
        if name not in present:
            raise InvalidOption(f"there is no column {name!r} for {role}, only {', '.join(present)}")
        found[role] = table.column(name)
    if "value" not in found:
        raise InvalidOption(
            f"there is no column 'value': name the one that has the values, value={present[0]!r} perhaps"
            if present
            else "the table has no columns: it needs one of values"
        )
    records = pa.table(found)
    pieces: list[pa.RecordBatch] = records.to_batches()
    if len(pieces) > 1 and records.nbytes < len(pieces) * _PIECE_MIN:
        pieces = records.combine_chunks().to_batches()
    return pieces


def _columns_of(part: pa.RecordBatch, timestamp_ms: int) -> RecordColumns:
    try:
        columns = RecordColumns.of(part, timestamp_ms)
    except InvalidRecordError as error:
        raise InvalidOption(f"the table cannot be sent: {error}") from None
    if part.num_rows and columns.timestamps.min() < 0:
        raise InvalidOption("a timestamp lies before 1970, which no record's can")
    return columns


def _integers(table: pa.Table, name: str) -> npt.NDArray[np.int32]:
    """Partitions by row; a null is a row that goes where the partitioner wants it."""
    if name not in table.schema.names:
        raise InvalidOption(
            f"there is no column {name!r} for partition, only {', '.join(table.schema.names)}"
        )
    column = table.column(name)
    if not pa.types.is_integer(column.type):
        raise InvalidOption(f"column {name!r} is {column.type}: a partition is a number")
    try:
        values = column.cast(pa.int32()).fill_null(NO_KEY).to_numpy()
    except pa.ArrowInvalid as error:
        raise InvalidOption(f"column {name!r} holds what is no partition: {error}") from None
    return np.ascontiguousarray(values, np.int32)
