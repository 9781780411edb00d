"""[pure] What a producer has done, counted per batch and request, never per record."""

from dataclasses import dataclass


@dataclass(slots=True)
class ProducerMetrics:
    """Counts since the producer was made; levels are of the moment of asking.

    ``records_sent`` counts a record anew each time that it is sent.
    """

    records_sent: int = 0
    records_acknowledged: int = 0
    records_failed: int = 0
    batches_sent: int = 0
    batches_retried: int = 0
    batches_split: int = 0
    bytes_sent: int = 0
    bytes_before_compression: int = 0
    requests_sent: int = 0
    requests_failed: int = 0
    request_seconds_total: float = 0.0
    request_seconds_max: float = 0.0
    throttled_ms_total: int = 0
    metadata_refreshes: int = 0
    epoch_bumps: int = 0
    requests_in_flight: int = 0
    buffered_bytes: int = 0
    buffered_batches: int = 0

    @property
    def records_per_batch(self) -> float:
        return self.records_sent / self.batches_sent if self.batches_sent else 0.0

    @property
    def compression_ratio(self) -> float:
        return self.bytes_sent / self.bytes_before_compression if self.bytes_before_compression else 1.0

    def answered_after(self, seconds: float) -> None:
        self.request_seconds_total += seconds
        self.request_seconds_max = max(self.request_seconds_max, seconds)
