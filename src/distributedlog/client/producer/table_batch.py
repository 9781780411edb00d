"""[pure] A batch that was encoded from columns before it was known under which number it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distributedlog.client.producer.batch import Batch
from distributedlog.records import Compression, decode_batch
from distributedlog.records.columns_rows import records_count_of, seal_batch

if TYPE_CHECKING:
    from distributedlog.client.errors import ClientError
    from distributedlog.client.producer.lane import Lane


class TableBatch(Batch):
    """Its records exist as bytes only; sealed when the batch leaves, and again under a new number."""

    __slots__ = ("_unsealed",)

    def __init__(self, lane: Lane, unsealed: memoryview) -> None:
        super().__init__(lane, (), 0.0, 0.0)
        self._unsealed: memoryview | None = unsealed
        self.records_count = records_count_of(unsealed)
        self.size = len(unsealed)

    def encode(self, compression: Compression, level: int | None, is_transactional: bool) -> Any:
        if self.encoded is None and self._unsealed is not None:
            producer_id, epoch = self.identity
            seal_batch(self._unsealed, producer_id, epoch, self.sequence, is_transactional)
            self.encoded = self._unsealed
        return self.encoded

    def split(self) -> list[Batch]:
        """What the broker finds too large goes on as records, which can be divided as finely as need be."""
        if self._unsealed is not None:
            self.records = [
                (record.timestamp, record.key, record.value, record.headers)
                for record in decode_batch(self._unsealed, check_crc=False)
            ]
            self._unsealed = None
        return super().split()

    def finish(self, base_offset: int, log_append_time_ms: int, error: ClientError | None) -> None:
        super().finish(base_offset, log_append_time_ms, error)
        self._unsealed = None
