"""[pure] The partitions that a consumer reads, and what has been fetched of them: what two threads share.

The loop puts chunks in; whoever polls takes them out, oldest first, and decodes outside of the lock. The lock
guards jumps of positions, and the count of what waits.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from distributedlog.client.consumer.partition_state import UNKNOWN, PartitionState
from distributedlog.client.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from distributedlog.client.consumer.chunk import Chunk
    from distributedlog.client.consumer.record import ConsumerRecord
    from distributedlog.client.errors import ClientError
    from distributedlog.client.metadata import TopicPartition


class FetchBuffer:
    """`ring` tells whoever polls that there is something; `make_room` the fetcher that it may ask for more.

    A partition with `partition_bytes_max` waiting is not fetched; when all have `bytes_max`, none with any.
    """

    def __init__(
        self,
        partition_bytes_max: int,
        bytes_max: int,
        ring: Callable[[], object],
        make_room: Callable[[], object],
    ) -> None:
        self.lock = threading.Lock()
        self.states: dict[TopicPartition, PartitionState] = {}
        self.buffered_bytes = 0
        self.failed: deque[tuple[PartitionState, int]] = deque()
        self._partition_bytes_max = partition_bytes_max
        self._bytes_max = bytes_max
        self._ring = ring
        self._make_room = make_room
        self._ready: deque[Chunk] = deque()

    def read_ahead(self, partition_bytes_max: int) -> None:
        """Let partitions have more waiting from now on."""
        self._partition_bytes_max = max(self._partition_bytes_max, partition_bytes_max)

    # Which partitions

    def add(self, partitions: Iterable[TopicPartition], *, is_ready: bool = True) -> None:
        with self.lock:
            for partition in partitions:
                if partition not in self.states:
                    self.states[partition] = PartitionState(partition, is_ready=is_ready)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        with self.lock:
            for partition in partitions:
                state = self.states.pop(partition, None)
                if state is not None:
                    state.serial += 1
                    state.held.clear()
            self._drop_void()

    def all_states(self) -> list[PartitionState]:
        """As they are now, whoever adds some in another thread meanwhile."""
        with self.lock:
            return list(self.states.values())

    def state_of(self, partition: TopicPartition) -> PartitionState:
        state = self.states.get(partition)
        if state is None:
            raise InvalidOption(
                f"{partition} is not assigned to this consumer: it can neither be read nor moved in"
            )
        return state

    # Positions

    def jump(
        self,
        state: PartitionState,
        offset: int | None,
        epoch: int = UNKNOWN,
        reset_to: int | None = None,
        fallback: int | None = None,
    ) -> None:
        """Go on at `offset`, or where `reset_to` turns out to be; what has been fetched is void."""
        with self.lock:
            state.serial += 1
            state.position = offset
            state.fetch_offset = offset or 0
            state.position_epoch = state.fetch_epoch = epoch
            state.validated_epoch = UNKNOWN
            state.reset_to = reset_to
            state.fallback = fallback
            state.needs_validation = False
            state.error = None
            state.buffered_bytes = 0
            state.is_full = False
            state.held.clear()
            self._drop_void()

    def pause(self, state: PartitionState) -> None:
        with self.lock:
            state.is_paused = True

    def resume(self, state: PartitionState) -> None:
        with self.lock:
            state.is_paused = False
            self._ready.extendleft(reversed(state.held))
            state.held.clear()

    # What the fetcher does

    def may_fetch(self, state: PartitionState) -> bool:
        """Whether the partition is to be asked for; if not for lack of room, it is remembered."""
        if (
            state.position is None
            or state.is_paused
            or state.needs_validation
            or state.is_misplaced
            or state.error is not None
            or state.in_flight_serial == state.serial
            or not state.is_ready
        ):
            return False
        with self.lock:
            limit = self._partition_bytes_max if self.buffered_bytes < self._bytes_max else 1
            state.is_full = state.buffered_bytes >= limit
        return not state.is_full

    def put(self, chunk: Chunk) -> None:
        state = chunk.state
        with self.lock:
            if chunk.serial != state.serial:
                return
            state.fetch_offset = chunk.end_offset
            state.fetch_epoch = chunk.leader_epoch
            state.buffered_bytes += chunk.size
            self.buffered_bytes += chunk.size
            self._ready.append(chunk)
        self._ring()

    def fail(self, state: PartitionState, error: ClientError) -> None:
        """The next poll raises it; until then the partition rests."""
        if self.states.get(state.partition) is not state:
            return
        state.error = error
        self.failed.append((state, state.serial))
        self._ring()

    # What whoever polls does

    def take_failure(self) -> ClientError | None:
        """An error that still holds; the partition may be tried again."""
        while self.failed:
            state, serial = self.failed.popleft()
            error, state.error = state.error, None
            if error is not None and serial == state.serial:
                return error
        return None

    def take(self, limit: int) -> list[ConsumerRecord]:
        """Up to so many records. Errors of what a chunk holds are raised when no record comes before them."""
        records: list[ConsumerRecord] = []
        while (chunk := self.first_chunk()) is not None:
            try:
                found = chunk.read(limit - len(records))
            except Exception:
                if records:
                    return records
                raise
            self.passed(chunk, chunk.next_offset)
            if records:
                records += found
            else:
                records = found
            if chunk.is_done:
                self.finished(chunk)
            if len(records) >= limit:
                return records
        return records

    def first_chunk(self) -> Chunk | None:
        """The oldest one that may be read; it stays until it is `finished`."""
        with self.lock:
            while self._ready:
                chunk = self._ready[0]
                state = chunk.state
                if chunk.serial == state.serial and not state.is_paused:
                    return chunk
                self._ready.popleft()
                if chunk.serial == state.serial:
                    state.held.append(chunk)
            return None

    def passed(self, chunk: Chunk, next_offset: int) -> None:
        """Everything before `next_offset` is handed out."""
        with self.lock:
            state = chunk.state
            if chunk.serial == state.serial and state.position is not None and next_offset > state.position:
                state.position = next_offset
                state.position_epoch = chunk.read_epoch

    def finished(self, chunk: Chunk) -> None:
        with self.lock:
            if not self._ready or self._ready[0] is not chunk:
                return
            self._ready.popleft()
            state = chunk.state
            was_crowded = self.buffered_bytes >= self._bytes_max
            state.buffered_bytes -= chunk.size
            self.buffered_bytes -= chunk.size
            is_crowded = self.buffered_bytes >= self._bytes_max
            has_room = was_crowded and not is_crowded
            if state.is_full and state.buffered_bytes < self._partition_bytes_max:
                state.is_full, has_room = False, True
        if has_room:
            self._make_room()

    def _drop_void(self) -> None:
        self._ready = deque(chunk for chunk in self._ready if chunk.serial == chunk.state.serial)
        self.buffered_bytes = sum(state.buffered_bytes for state in self.states.values())
