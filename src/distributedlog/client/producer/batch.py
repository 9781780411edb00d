"""[pure] Records on their way to one partition together, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from distributedlog.client.producer.identity import NO_IDENTITY, NO_SEQUENCE, SEQUENCES, Identity
from distributedlog.records import BatchBuilder, Compression

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributedlog.client.errors import ClientError
    from distributedlog.client.producer.future import RecordFuture
    from distributedlog.client.producer.lane import Lane
    from distributedlog.records.builder import RecordToAppend

UNKNOWN_OFFSET: Final = -1
RECORD_OVERHEAD: Final = 21
"""What a record may take beside key, value and headers, while its lengths fit two or three bytes each."""


class Batch:
    """Filled under the accumulator's lock, then the sender's alone until it is done.

    ``size`` is an upper bound of the encoded records. ``sequence`` is set when the batch is first sent and
    stays, so that the broker knows a retry again, until the lane has to begin anew. ``serial`` is the order
    in which batches were begun.
    """

    __slots__ = (
        "attempts",
        "base_offset",
        "callbacks",
        "created_at",
        "deadline",
        "deliveries",
        "encoded",
        "error",
        "identity",
        "is_done",
        "is_hurried",
        "lane",
        "log_append_time_ms",
        "parts",
        "record_errors",
        "records",
        "records_count",
        "sequence",
        "serial",
        "size",
    )

    def __init__(self, lane: Lane, serial: tuple[int, ...], created_at: float, deadline: float) -> None:
        self.lane = lane
        self.serial = serial
        self.created_at = created_at
        self.deadline = deadline
        self.records: list[RecordToAppend] = []
        self.records_count = 0
        self.size = 0
        self.attempts = 0
        self.identity = NO_IDENTITY
        self.sequence = NO_SEQUENCE
        self.encoded: Any = None
        self.is_hurried = False
        self.is_done = False
        self.base_offset = UNKNOWN_OFFSET
        self.log_append_time_ms = -1
        self.error: ClientError | None = None
        self.record_errors: dict[int, str] = {}
        self.parts: list[tuple[int, Batch]] = []
        self.callbacks: list[Callable[[], object]] = []
        self.deliveries: list[tuple[RecordFuture, Callable[..., object]]] = []

    def close(self) -> None:
        """No record comes any more."""
        self.records_count = len(self.records)

    def number(self, identity: Identity, sequence: int) -> None:
        """What was encoded under other numbers is worth nothing."""
        if (identity, sequence) != (self.identity, self.sequence):
            self.identity, self.sequence = identity, sequence
            self.encoded = None

    def encode(self, compression: Compression, level: int | None, is_transactional: bool) -> Any:
        """The batch as it goes to the broker; the same bytes for every retry."""
        if self.encoded is None:
            builder = BatchBuilder(
                compression,
                compression_level=level,
                producer_id=self.identity.producer_id,
                producer_epoch=self.identity.epoch,
                base_sequence=self.sequence,
                is_transactional=is_transactional,
            )
            builder.extend(self.records)
            self.encoded = builder.build()
        return self.encoded

    def can_split(self) -> bool:
        return self.records_count > 1

    def split(self) -> list[Batch]:
        """Two batches with half of the records each, numbered as they were in this one, which is done when
        they are."""
        middle = self.records_count // 2
        sizes = [RECORD_OVERHEAD + _size_of(record) for record in self.records]
        for start, end in ((0, middle), (middle, self.records_count)):
            part = Batch(self.lane, (*self.serial, len(self.parts)), self.created_at, self.deadline)
            part.records = self.records[start:end]
            part.size = sum(sizes[start:end])
            part.close()
            if self.sequence != NO_SEQUENCE:
                part.number(self.identity, (self.sequence + start) % SEQUENCES)
            self.parts.append((start, part))
        self.records = []
        return [part for _, part in self.parts]

    def finish(self, base_offset: int, log_append_time_ms: int, error: ClientError | None) -> None:
        """The records are let go; futures find what they need here."""
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.error = error
        self.records = []
        self.encoded = None
        self.is_done = True

    def part_of(self, index: int) -> tuple[Batch, int]:
        """The batch that a record was in at last, and its place there."""
        batch = self
        while batch.parts:
            start, part = next(entry for entry in reversed(batch.parts) if entry[0] <= index)
            batch, index = part, index - start
        return batch, index


def _size_of(record: RecordToAppend) -> int:
    _, key, value, headers = record
    return len(key or b"") + len(value or b"") + headers_size(headers)


def headers_size(headers: Any) -> int:
    """Upper bound of what headers take in a record."""
    return sum(len(name) * 4 + len(value or b"") + 10 for name, value in headers)
