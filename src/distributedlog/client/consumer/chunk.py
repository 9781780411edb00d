"""[pure] What one fetch brought of one partition: batches, opened one by one when somebody wants records."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from distributedlog.client.committed_records import wanted_batches
from distributedlog.client.consumer.record import make_consumer_record
from distributedlog.client.errors import ClientError, SerialisationFailed, UnexpectedResponse
from distributedlog.client.serialisers import deserialised
from distributedlog.records import RecordsError, decode_batch
from distributedlog.records.header import HEADER_SIZE, LAST_OFFSET_DELTA_POSITION, LOG_OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributedlog.client.consumer.partition_state import PartitionState
    from distributedlog.client.consumer.record import ConsumerRecord
    from distributedlog.client.serialisers import Deserializer
    from distributedlog.records.header import Buffer

_PLACE: Final = Struct(">qii")  # base offset, length, leader epoch
_INT32: Final = Struct(">i")


class Reach:
    """How far the whole batches of a fetch go: their bytes, the offset behind them, the last one's epoch."""

    __slots__ = ("leader_epoch", "next_offset", "size")

    def __init__(self, data: Buffer) -> None:
        position, last, end = 0, -1, len(data)
        self.next_offset = self.leader_epoch = -1
        while end - position >= HEADER_SIZE:
            _, length, _ = _PLACE.unpack_from(data, position)
            if length < HEADER_SIZE - LOG_OVERHEAD or length > end - position - LOG_OVERHEAD:
                break
            last = position
            position += length + LOG_OVERHEAD
        if last >= 0:
            base_offset, _, self.leader_epoch = _PLACE.unpack_from(data, last)
            delta = _INT32.unpack_from(data, last + LAST_OFFSET_DELTA_POSITION)[0]
            self.next_offset = base_offset + delta + 1
        self.size = position


class Chunk:
    """Records come out of `read` in order; `next_offset` is the position behind what has come out.

    An error leaves the position before the record that is to blame, and is raised again by the next call.
    """

    __slots__ = (
        "_batches",
        "_behind",
        "_check_crcs",
        "_deserializers",
        "_failure",
        "_prefix",
        "_records",
        "_taken",
        "aborted",
        "data",
        "end_offset",
        "is_done",
        "leader_epoch",
        "next_offset",
        "read_epoch",
        "serial",
        "size",
        "start_offset",
        "state",
    )

    def __init__(
        self,
        state: PartitionState,
        serial: int,
        data: Buffer,
        start_offset: int,
        aborted: Sequence[tuple[int, int]],
        reach: Reach,
        *,
        check_crcs: bool = True,
        deserializers: tuple[Deserializer | None, Deserializer | None] | None = None,
    ) -> None:
        self.state = state
        self.serial = serial
        self.data = data
        self.size = len(data)
        self.start_offset = self.next_offset = start_offset
        self.aborted = aborted
        self.end_offset = reach.next_offset
        self.leader_epoch = reach.leader_epoch
        self.read_epoch = -1  # the leader epoch of what has come out last
        self.is_done = False
        self._check_crcs = check_crcs
        self._deserializers = deserializers
        self._batches = wanted_batches(data, aborted)
        self._prefix: tuple[Any, ...] = tuple(state.partition)
        self._records: list[ConsumerRecord] = []  # of the batch that is open
        self._taken = 0  # how many of them have come out
        self._behind = start_offset  # where the open batch ends
        self._failure: ClientError | None = None

    def skip_to(self, offset: int) -> None:
        """What lies before `offset` has been taken another way."""
        self.start_offset = self.next_offset = self._behind = offset
        self.read_epoch = self.leader_epoch
        self._records, self._taken = [], 0

    def read(self, limit: int) -> list[ConsumerRecord]:
        """Up to so many records; fewer than there are only before an error."""
        found: list[ConsumerRecord] = []
        while True:
            left = limit - len(found)
            records, taken = self._records, self._taken
            if len(records) - taken > left:
                self._taken = taken + left
                found += records[taken : taken + left]
                self.next_offset = found[-1].offset + 1 if found else self.next_offset
                return found
            if found or taken:
                found += records[taken:]
            else:
                found = records
            self._records, self._taken = [], 0
            self.next_offset = max(self.next_offset, self._behind)
            if self._failure is not None:
                if found:
                    return found
                raise self._failure
            if len(found) >= limit or not self._open_next():
                return found

    def _open_next(self) -> bool:
        """Decode one more batch; False when there is none."""
        try:
            for position, header, is_wanted in self._batches:
                if not is_wanted or header.next_offset <= self.start_offset:
                    self._behind = max(self._behind, header.next_offset)
                    continue
                prefix = self._prefix
                decoded = decode_batch(self.data, position, check_crc=self._check_crcs)
                if header.base_offset < self.start_offset:
                    decoded = [record for record in decoded if record.offset >= self.start_offset]
                self._records = list(map(make_consumer_record, map(prefix.__add__, decoded)))
                self._behind = header.next_offset
                self.read_epoch = header.partition_leader_epoch
                if self._deserializers is not None:
                    self._deserialise(*self._deserializers)
                return True
        except RecordsError as error:
            place = f"what {self.state.partition} holds at offset {self._behind}"
            self._failure = UnexpectedResponse(f"{place} cannot be read: {error}; seek behind it to go on")
            return True
        self.next_offset = max(self.next_offset, self._behind)
        self.is_done = True
        return False

    def _deserialise(self, key_of: Deserializer | None, value_of: Deserializer | None) -> None:
        made: list[ConsumerRecord] = []
        for record in self._records:
            topic, partition, offset, timestamp, key, value, headers = record
            place = f"{self.state.partition} at offset {offset}"
            try:
                if key_of is not None:
                    key = deserialised(key_of, key, f"the key of {place}")
                if value_of is not None:
                    value = deserialised(value_of, value, f"the value of {place}")
            except SerialisationFailed as error:
                self._failure = SerialisationFailed(f"{error}; seek behind it to go on")
                self._failure.__cause__ = error.__cause__
                self._behind = offset
                break
            made.append(make_consumer_record((topic, partition, offset, timestamp, key, value, headers)))
        self._records = made
