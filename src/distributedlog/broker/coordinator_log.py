"""A coordinator's partition: where a key's records are, how they are written, how they are read again.

A coordinator (of groups, of transactions) keeps its state as records of a compacted internal topic. Every
key belongs to one partition of it, and who leads that partition is the key's coordinator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from distributedlog.records import (
    HEADER_SIZE,
    ControlType,
    CorruptBatchError,
    decode_batch,
    encode_batch,
    iterate_batches,
    parse_control_record,
)

if TYPE_CHECKING:
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.scheduler import Scheduler
    from distributedlog.groups import Transaction
    from distributedlog.log import FileRegion

KeyAndValue = tuple[bytes, bytes | None]

#: Bytes that are read from the log at a time: decoding them keeps a thread busy for some milliseconds.
CHUNK_BYTES: Final = 1024 * 1024
#: Records that are replayed before other work of the loop has its turn.
REPLAYED_PER_TURN: Final = 256
#: More than the frame of one record takes beside its key and value.
_RECORD_OVERHEAD: Final = 32
_NO_PRODUCER: Final = -1


def java_hash(text: str) -> int:
    """What Java's ``String.hashCode`` gives: over UTF-16 code units, in 32 bits with a sign."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(encoded), 2):
        value = (31 * value + (encoded[position] << 8 | encoded[position + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_for(key: str, partitions: int) -> int:
    """The partition of a coordinator's topic that a group or transactional id belongs to."""
    value = java_hash(key)
    return (0 if value == -(1 << 31) else abs(value)) % partitions


def encode_records(
    records: Sequence[KeyAndValue], now_ms: int, batch_bytes_max: int, transaction: "Transaction | None"
) -> bytearray:
    """The records as one batch, so that a crash keeps all of them or none.

    Tombstones are made several batches when they do not fit in one: each is right without the others.
    """
    producer_id, producer_epoch = _NO_PRODUCER, _NO_PRODUCER
    if transaction is not None:
        producer_id, producer_epoch = transaction.producer_id, transaction.producer_epoch
    batches = bytearray()
    for part in _parts(records, batch_bytes_max):
        batches += encode_batch(
            [(now_ms, key, value, ()) for key, value in part],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=transaction is not None,
        )
    return batches


def _parts(records: Sequence[KeyAndValue], batch_bytes_max: int) -> Sequence[Sequence[KeyAndValue]]:
    room = batch_bytes_max - HEADER_SIZE
    if any(value is not None for _, value in records):
        return [records]
    parts: list[list[KeyAndValue]] = [[]]
    size = 0
    for record in records:
        record_size = len(record[0]) + _RECORD_OVERHEAD
        if size + record_size > room and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(record)
        size += record_size
    return parts


class LoadedRecord(NamedTuple):
    """A record of the log; ``producer_id`` is that of its transaction, -1 where it is not in one."""

    key: bytes
    value: bytes | None
    offset: int
    producer_id: int


class EndOfTransaction(NamedTuple):
    """A transaction's marker."""

    producer_id: int
    is_committed: bool


@dataclass(slots=True)
class _Chunk:
    entries: list[LoadedRecord | EndOfTransaction]
    next_offset: int


def _decode(region: "FileRegion") -> _Chunk:
    """Read and decode a part of a log; for a thread."""
    data = region.read()
    chunk = _Chunk([], -1)
    for position, header in iterate_batches(data):
        chunk.next_offset = header.next_offset
        if header.is_control:
            for record in decode_batch(data, position):
                control = parse_control_record(record).control_type
                if control in (ControlType.COMMIT, ControlType.ABORT):
                    is_committed = control == ControlType.COMMIT
                    chunk.entries.append(EndOfTransaction(header.producer_id, is_committed))
            continue
        producer_id = header.producer_id if header.is_transactional else _NO_PRODUCER
        for record in decode_batch(data, position):
            if record.key is not None:
                chunk.entries.append(LoadedRecord(record.key, record.value, record.offset, producer_id))
    if chunk.next_offset < 0:
        raise CorruptBatchError(f"no whole batch in {region!r}")
    return chunk


class Loader:
    """Reads a partition from its start to the end it has now, beside the loop's other work.

    ``replay`` gets the entries in their order, then ``done`` is called; or ``failed``, with what the log or
    ``replay`` raised.
    """

    def __init__(
        self,
        partition: "Partition",
        scheduler: "Scheduler",
        replay: Callable[[LoadedRecord | EndOfTransaction], None],
        done: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._partition = partition
        self._scheduler = scheduler
        self._replay = replay
        self._done = done
        self._failed = failed
        self._end_offset = partition.log.log_end_offset
        self._is_cancelled = False

    def start(self) -> None:
        """Begin. An empty log is loaded before this returns."""
        self._read(self._partition.log.log_start_offset)

    def cancel(self) -> None:
        """Neither ``done`` nor ``failed`` will be called."""
        self._is_cancelled = True

    def _read(self, offset: int) -> None:
        try:
            region = None
            if offset < self._end_offset:
                region = self._partition.log.read(offset, CHUNK_BYTES, upper_offset=self._end_offset)
        except Exception as error:  # noqa: BLE001 - handed to whoever wanted to load
            self._fail(error)
            return
        if region is None:
            self._done()
            return
        self._scheduler.run_in_thread(lambda: _decode(region), self._take, self._fail)

    def _take(self, chunk: _Chunk, position: int = 0) -> None:
        if self._is_cancelled:
            return
        end = position + REPLAYED_PER_TURN
        try:
            for entry in chunk.entries[position:end]:
                self._replay(entry)
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(error)
            return
        if end < len(chunk.entries):
            self._scheduler.call_soon(lambda: self._take(chunk, end))
        else:
            self._read(chunk.next_offset)

    def _fail(self, error: BaseException) -> None:
        if not self._is_cancelled:
            self._failed(error)
