"""[pure] Incremental fetches (KIP-227): a request names only the partitions that are not as the broker knows
them.

A consumer of many partitions most of which are idle sends and has parsed only what moves: of a thousand
partitions the request shrinks from 30 KB to nothing, and so does the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from distributedlog.client.errors import ClientError
from distributedlog.wire import ErrorCode
from distributedlog.wire.k01_fetch import FetchPartition, FetchTopic, ForgottenTopic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from distributedlog.client.metadata import TopicPartition
    from distributedlog.wire.k01_fetch import FetchRequest, FetchResponse

NO_SESSION: Final = 0
FIRST_EPOCH: Final = 0
EPOCH_MAX: Final = 2**31 - 1
_LOST: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


class SessionLost(ClientError):
    """The broker has forgotten the session: ask again, for everything."""

    is_retriable = True


class FetchSession:
    """One connection's session. `fill` tells the broker what is new; `answered` must hear every answer."""

    def __init__(self, partition_bytes_max: int) -> None:
        self._partition_bytes_max = partition_bytes_max
        self._id = NO_SESSION
        self._epoch = FIRST_EPOCH
        self._known: dict[TopicPartition, tuple[int, int, bytes]] = {}

    def fill(
        self,
        request: FetchRequest,
        wanted: Mapping[TopicPartition, tuple[int, int]],
        topic_ids: Mapping[str, bytes],
    ) -> None:
        """`wanted` has offset and leader epoch of each partition."""
        now = {
            partition: (offset, epoch, topic_ids.get(partition.topic, bytes(16)))
            for partition, (offset, epoch) in wanted.items()
        }
        request.session_id, request.session_epoch = self._id, self._epoch
        topics: dict[str, FetchTopic] = {}
        for partition, (offset, epoch, topic_id) in now.items():
            if self._known.get(partition) == (offset, epoch, topic_id):
                continue
            topic = topics.get(partition.topic)
            if topic is None:
                topic = topics[partition.topic] = FetchTopic(partition.topic, topic_id)
            topic.partitions.append(
                FetchPartition(
                    partition.partition,
                    current_leader_epoch=epoch,
                    fetch_offset=offset,
                    partition_max_bytes=self._partition_bytes_max,
                )
            )
        request.topics = list(topics.values())
        forgotten: dict[tuple[str, bytes], ForgottenTopic] = {}
        for partition, (_, _, topic_id) in self._known.items():
            if partition not in now or now[partition][2] != topic_id:
                name = partition.topic
                gone = forgotten.setdefault((name, topic_id), ForgottenTopic(name, topic_id))
                gone.partitions.append(partition.partition)
        request.forgotten_topics_data = list(forgotten.values())
        self._known = now

    def answered(self, response: FetchResponse) -> None:
        """SessionLost when the next request has to begin anew."""
        if response.error_code:
            self._reset()
            if response.error_code in _LOST:
                raise SessionLost("the broker has forgotten the fetch session")
            return
        if response.session_id == NO_SESSION:
            self._reset()  # it has none for us, or does not know of sessions
            return
        self._id = response.session_id
        self._epoch = self._epoch % EPOCH_MAX + 1

    def _reset(self) -> None:
        self._id, self._epoch = NO_SESSION, FIRST_EPOCH
        self._known = {}
