"""[io] Where each partition is to be read from: committed, asked for, or by ``auto_offset_reset``."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Final

from distributedlog.client.committed import committed_offsets_of
from distributedlog.client.consumer.places import Places
from distributedlog.client.errors import ClientError, ClusterUnreachable, NoOffset, check
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.offsets import EARLIEST, LATEST, list_offsets_at
from distributedlog.client.retry import Backoff
from distributedlog.wire.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.consumer.fetch_buffer import FetchBuffer
    from distributedlog.client.consumer.partition_state import PartitionState
    from distributedlog.client.consumer.settings import ConsumerSettings
    from distributedlog.wire.k23_offset_for_leader_epoch import OffsetForLeaderEpochResponse

_logger = logging.getLogger(__name__)

_MOMENTS: Final = {"earliest": EARLIEST, "latest": LATEST}
_CONSUMER_REPLICA: Final = -1


class PositionKeeper:
    """`found` is called when partitions have got their positions, `tell_unknown` when some are not known."""

    def __init__(
        self,
        client: ClusterClient,
        buffer: FetchBuffer,
        settings: ConsumerSettings,
        found: Callable[[], object],
        tell_unknown: Callable[[], object],
    ) -> None:
        self._client = client
        self._buffer = buffer
        self._settings = settings
        self._found = found
        self._tell_unknown = tell_unknown
        self._places = Places(client)
        self._loop = asyncio.get_running_loop()
        self._work: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()

    def kick(self) -> None:
        """Called in the loop's thread: see to partitions that need something."""
        if self._work is None and self._wanting():
            self._work = self._loop.create_task(self._run())

    async def close(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    async def wait(self) -> None:
        """Until something has been found out, or failed."""
        self._settled.clear()
        self.kick()
        if self._work is not None:
            await self._settled.wait()

    def _wanting(self) -> list[PartitionState]:
        return [
            state
            for state in self._buffer.all_states()
            if state.needs_position or (state.needs_validation and state.error is None)
        ]

    async def _run(self) -> None:
        settings = self._client.settings
        backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random)
        try:
            while states := self._wanting():
                is_settled = await self._look_up_topics(states)
                known = [state for state in states if self._places.of(state.partition) is not None]
                if known:
                    is_settled &= await self._try(known)
                self._settled.set()
                self._found()
                if len(known) < len(states):
                    self._tell_unknown()
                    is_settled = False
                if not is_settled:
                    await asyncio.sleep(backoff.next_ms() / 1000)
        finally:
            self._work = None
            self._settled.set()

    async def _look_up_topics(self, states: Sequence[PartitionState]) -> bool:
        """Those that are not known, so that they do not keep the others waiting; whether that worked."""
        unknown = {state.partition.topic for state in states if self._places.of(state.partition) is None}
        if not unknown:
            return True
        try:
            await self._client.refresh(unknown, may_create=self._settings.allow_auto_create_topics)
        except ClientError as error:
            if not error.is_retriable and not isinstance(error, ClusterUnreachable):
                for state in states:
                    self._buffer.fail(state, error)
                return True
            _logger.warning("positions are not known yet: %s", error)
            return False
        return True

    async def _try(self, states: Sequence[PartitionState]) -> bool:
        """Whether there is no need to wait before the next try. One partition's error is not another's."""
        try:
            await self._see_to(states)
        except ClientError as error:
            if error.is_retriable or isinstance(error, ClusterUnreachable):
                _logger.warning("positions are not known yet: %s", error)
                self._client.forget_places()
                return False
            if len(states) == 1:
                self._buffer.fail(states[0], error)
                return True
            return all([await self._try([state]) for state in states])
        return True

    async def _see_to(self, states: Sequence[PartitionState]) -> None:
        without = [state for state in states if state.needs_position]
        if self._settings.group_id is not None:
            await self._begin_at_committed(
                [state for state in without if state.reset_to is None and state.position_is_gone_at is None]
            )
        await self._reset([state for state in without if state.needs_position])
        await self._validate([state for state in states if state.needs_validation])

    async def _begin_at_committed(self, states: Sequence[PartitionState]) -> None:
        if not states:
            return
        serials = {state: state.serial for state in states}
        committed = await committed_offsets_of(
            self._client,
            self._settings.group_id or "",
            [state.partition for state in states],
            is_stable=self._settings.is_read_committed,
        )
        for state, serial in serials.items():
            found = committed.get(state.partition)
            if state.serial != serial:
                continue
            if found is not None:
                self._buffer.jump(state, found.offset, found.leader_epoch)
                state.committed = found
            elif state.fallback is not None:
                self._buffer.jump(state, state.fallback)

    async def _reset(self, states: Sequence[PartitionState]) -> None:
        default = _MOMENTS.get(self._settings.auto_offset_reset)
        by_moment: dict[int, dict[TopicPartition, tuple[PartitionState, int]]] = {}
        for state in states:
            moment = default if state.reset_to is None else state.reset_to
            if moment is None:
                self._buffer.fail(state, _no_offset(state, self._settings.group_id))
            else:
                by_moment.setdefault(moment, {})[state.partition] = state, state.serial
        for moment, wanted in by_moment.items():
            offsets = await list_offsets_at(
                self._client, wanted, moment, is_read_committed=self._settings.is_read_committed
            )
            for partition, (state, serial) in wanted.items():
                if state.serial == serial:
                    self._buffer.jump(state, offsets[partition])
                    state.position_is_gone_at = None

    async def _validate(self, states: Sequence[PartitionState]) -> None:
        """Whether the log still has what was read: a new leader may never have had it (KIP-320)."""
        by_place = {state.partition: (state, state.serial) for state in states}
        for leader, partitions in (await self._client.by_leader(by_place)).items():
            topics: dict[str, OffsetForLeaderTopic] = {}
            epochs: dict[TopicPartition, int] = {}
            for partition in partitions:
                state, _ = by_place[partition]
                epochs[partition] = self._leader_epoch(partition)
                topic = topics.setdefault(partition.topic, OffsetForLeaderTopic(partition.topic))
                topic.partitions.append(
                    OffsetForLeaderPartition(partition.partition, epochs[partition], state.fetch_epoch)
                )
            request = OffsetForLeaderEpochRequest(_CONSUMER_REPLICA, list(topics.values()))
            response: OffsetForLeaderEpochResponse = await self._client.ask_node(leader, request)
            for result_topic in response.topics:
                for result in result_topic.partitions:
                    partition = TopicPartition(result_topic.topic, result.partition)
                    check(result.error_code, f"find the end of an epoch of {partition}")
                    state, serial = by_place[partition]
                    if state.serial == serial:
                        self._judge(state, result.leader_epoch, result.end_offset, epochs[partition])

    def _judge(self, state: PartitionState, epoch: int, end_offset: int, current_epoch: int) -> None:
        state.needs_validation = False
        state.validated_epoch = current_epoch
        position = state.position
        if position is None or (end_offset >= position and epoch >= 0):
            return
        if end_offset < 0 or epoch < 0:
            return  # the leader knows nothing of the epoch: there is nothing to compare with
        _logger.warning("%s was cut back to offset %d by a new leader", state.partition, end_offset)
        if self._settings.auto_offset_reset == "none":
            self._buffer.jump(state, None)
            state.position_is_gone_at = position
        else:
            self._buffer.jump(state, end_offset, epoch)
            state.validated_epoch = current_epoch

    def _leader_epoch(self, partition: TopicPartition) -> int:
        topic = self._client.metadata.topics.get(partition.topic)
        for each in topic.partitions if topic is not None else ():
            if each.index == partition.partition:
                return each.leader_epoch
        return -1


def _no_offset(state: PartitionState, group_id: str | None) -> NoOffset:
    if state.position_is_gone_at is not None:
        what = (
            f"{state.partition} has no offset {state.position_is_gone_at}: it was deleted, or never written"
        )
    elif group_id is not None:
        what = f"group {group_id} has committed no offset of {state.partition}"
    else:
        what = f"nothing says where to begin in {state.partition}"
    return NoOffset(f"{what}, and auto_offset_reset is 'none': seek, or set auto_offset_reset")
