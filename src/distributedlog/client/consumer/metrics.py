"""[pure] What a consumer has done, counted per fetch and per poll, never per record."""

from dataclasses import dataclass


@dataclass(slots=True)
class ConsumerMetrics:
    """Counts since the consumer was made; levels are of the moment of asking."""

    records_consumed: int = 0
    bytes_fetched: int = 0
    polls: int = 0
    fetches_sent: int = 0
    fetches_answered: int = 0
    fetches_failed: int = 0
    fetch_seconds_total: float = 0.0
    fetch_seconds_max: float = 0.0
    commits: int = 0
    commits_failed: int = 0
    rebalances: int = 0
    buffered_bytes: int = 0
    partitions_assigned: int = 0

    def answered_after(self, seconds: float) -> None:
        self.fetches_answered += 1
        self.fetch_seconds_total += seconds
        self.fetch_seconds_max = max(self.fetch_seconds_max, seconds)
