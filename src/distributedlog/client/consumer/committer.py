"""[io] Committing positions, one request after another, and what it means when the group refuses them."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from distributedlog.client.committed import CommittedOffset, Membership, commit_offsets
from distributedlog.client.errors import BrokerError, ClientError, CommitFailed, InvalidOption
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.consumer.fetch_buffer import FetchBuffer
    from distributedlog.client.consumer.metrics import ConsumerMetrics
    from distributedlog.client.consumer.settings import ConsumerSettings
    from distributedlog.client.group_metadata import GroupMetadata
    from distributedlog.client.metadata import TopicPartition

_logger = logging.getLogger(__name__)

_MOVED_ON: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
    }
)
_STALE_TRIES: Final = 5


class Committer:
    """`who` says who this consumer is in its group at the moment."""

    def __init__(
        self,
        client: ClusterClient,
        buffer: FetchBuffer,
        settings: ConsumerSettings,
        metrics: ConsumerMetrics,
        who: Callable[[], GroupMetadata],
    ) -> None:
        self._client = client
        self._buffer = buffer
        self._settings = settings
        self._metrics = metrics
        self._who = who
        self._turn = asyncio.Lock()

    async def commit(self, offsets: Mapping[TopicPartition, CommittedOffset]) -> None:
        """CommitFailed when the group has gone on without this member, or is about to."""
        group_id = self._settings.group_id
        if group_id is None:
            raise InvalidOption(
                "committing needs a consumer with a group_id: offsets are committed for a group"
            )
        if not offsets:
            return
        async with self._turn:
            for tries_left in reversed(range(_STALE_TRIES)):
                try:
                    await commit_offsets(self._client, group_id, offsets, self._membership())
                    break
                except BrokerError as error:
                    if error.code == ErrorCode.STALE_MEMBER_EPOCH and tries_left:
                        # A heartbeat is on its way that tells this member its next epoch.
                        await asyncio.sleep(self._client.settings.retry_backoff_ms / 1000)
                        continue
                    self._metrics.commits_failed += 1
                    if error.code in _MOVED_ON:
                        raise _commit_failed(group_id, error) from error
                    raise
                except ClientError:
                    self._metrics.commits_failed += 1
                    raise
            self._metrics.commits += 1
            for partition, committed in offsets.items():
                state = self._buffer.states.get(partition)
                if state is not None:
                    state.committed = committed

    async def try_to_commit(self, offsets: Mapping[TopicPartition, CommittedOffset]) -> None:
        """As `commit`, where nobody asked for it: a failure is logged, the next commit makes up for it."""
        try:
            await self.commit(offsets)
        except ClientError as error:
            _logger.warning("offsets of group %s are not committed: %s", self._settings.group_id, error)

    def _membership(self) -> Membership:
        who = self._who()
        return Membership(who.generation_id, who.member_id, who.group_instance_id)


def _commit_failed(group_id: str, error: BrokerError) -> CommitFailed:
    if error.code == ErrorCode.REBALANCE_IN_PROGRESS:
        return CommitFailed(
            f"group {group_id} is rebalancing, so nothing was committed: go on polling, and commit "
            "again what is still assigned"
        )
    return CommitFailed(
        f"group {group_id} has gone on without this member, so nothing was committed ({error.name}); its "
        "partitions may be read by others. Poll more often, raise max_poll_interval_ms, or lower "
        "max_poll_records"
    )
