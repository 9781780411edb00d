"""[pure] What a consumer knows of one partition that it reads."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distributedlog.client.metadata import TopicPartition

if TYPE_CHECKING:
    from distributedlog.client.committed import CommittedOffset
    from distributedlog.client.consumer.chunk import Chunk
    from distributedlog.client.errors import ClientError

UNKNOWN = -1


@dataclass(slots=True, eq=False)
class PartitionState:
    """``position`` is the next offset to hand out, ``fetch_offset`` the next one to ask for.

    ``serial`` goes up whenever the position jumps: what was fetched for another serial is void.
    """

    partition: TopicPartition
    serial: int = 0
    position: int | None = None
    position_epoch: int = UNKNOWN
    """The leader epoch of the last record before the position."""
    fetch_offset: int = 0
    fetch_epoch: int = UNKNOWN
    validated_epoch: int = UNKNOWN
    """Under which leader's epoch the position is known to be in the log."""
    reset_to: int | None = None
    """A moment to begin from (`offsets.EARLIEST`, or milliseconds), once that its offset is known."""
    fallback: int | None = None
    """Where to begin should the group have committed nothing; else ``auto_offset_reset`` says it."""
    is_ready: bool = True
    """Not before the rebalance listener has heard of the partition: it may seek."""
    is_paused: bool = False
    is_full: bool = False
    needs_validation: bool = False
    is_misplaced: bool = False
    """Whoever was asked does not lead it: it rests until the cluster has been asked who does."""
    in_flight_serial: int | None = None
    error: ClientError | None = None
    """Raised by the next poll; until then the partition rests."""
    buffered_bytes: int = 0
    held: deque[Chunk] = field(default_factory=deque)
    """What had come when the partition was paused."""
    high_watermark: int = UNKNOWN
    last_stable_offset: int = UNKNOWN
    log_start_offset: int = UNKNOWN
    committed: CommittedOffset | None = None
    preferred_replica: int | None = None
    position_is_gone_at: int | None = None
    """An offset that turned out to be none: committed offsets are of no more use then."""

    @property
    def needs_position(self) -> bool:
        return self.position is None and self.is_ready and self.error is None

    def lag(self, is_read_committed: bool) -> int | None:
        """How many offsets lie between the position and the end as it was last heard of."""
        end = self.last_stable_offset if is_read_committed else self.high_watermark
        if self.position is None or end < 0:
            return None
        return max(0, end - self.position)
