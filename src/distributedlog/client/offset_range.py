"""[pure] What a `RangeReader` is asked for. Light to load: who plans ranges does not read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from distributedlog.client.metadata import TopicPartition
from distributedlog.wire import ZERO_UUID

FETCH_BYTES: Final = 4 << 20
PATIENCE_MS: Final = 120_000


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """`topic_id` is the topic that was planned for: another of the same name is not read in its place."""

    partition: TopicPartition
    start: int
    end: int
    topic_id: bytes = ZERO_UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSettings:
    """`columns` are names of `records.columns.SCHEMA`; `times` are milliseconds, the second exclusive."""

    columns: Sequence[str]
    is_read_committed: bool = True
    fetch_bytes: int = FETCH_BYTES
    patience_ms: int = PATIENCE_MS
    times: tuple[int, int] | None = None
