"""[io] A range of offsets of one partition as Arrow batches: the way of bulk readers (the extra ``arrow``).

While the batches of one response are decoded, the next response is already on its way: where it has to
begin is in the headers, before any record is looked at. Whatever breaks on the way (a broker that goes
down, a leader that moves) is tried again from where the reader stands, for as long as it has patience.
"""

import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

from distributedlog.client.connection_pool import ClusterAccess
from distributedlog.client.errors import BrokerError, ClientError, UnexpectedResponse, check
from distributedlog.client.offset_range import OffsetRange, RangeSettings
from distributedlog.client.retry import Backoff
from distributedlog.records import RecordsError
from distributedlog.records.columns_pieces import FetchedBatches, Scratch
from distributedlog.wire import ZERO_UUID, ErrorCode
from distributedlog.wire.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

if TYPE_CHECKING:
    import pyarrow

    from distributedlog.client.blocking_connection import BlockingConnection

_MAX_WAIT_MS: Final = 500
_NO_SESSION: Final = -1
_EMPTY_MAX: Final = 3
"""How often a broker may answer with nothing although its log goes on, before that is taken for a gap."""
_GONE: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
_GONE_PATIENCE_MS: Final = 3_000
"""How long a topic that was there when the range was planned may be unknown to a broker."""


class TopicReplaced(ClientError):
    """The topic was deleted, and perhaps made anew, since the range was planned."""


class RangeReader:
    """Iterate over it once. `position` is the offset behind what has been handed out or passed over.

    BrokerError OFFSET_OUT_OF_RANGE and TopicReplaced say that records are gone; other errors have lasted
    for as long as the patience.
    """

    def __init__(self, access: ClusterAccess, wanted: OffsetRange, settings: RangeSettings) -> None:
        self.position = wanted.start
        self._access = access
        self._range = wanted
        self._settings = settings
        self._scratch = Scratch()
        self._empty = 0
        self._backoff = self._new_backoff()

    def __iter__(self) -> Iterator["pyarrow.RecordBatch"]:
        deadline = self._deadline(self._settings.patience_ms)
        gone_deadline: float | None = None
        while self.position < self._range.end:
            begun = self.position
            try:
                yield from self._read_from_one_connection()
                continue
            except ClientError as error:
                if self.position > begun:
                    deadline = self._deadline(self._settings.patience_ms)
                    gone_deadline = None
                    self._backoff = self._new_backoff()
                if isinstance(error, BrokerError) and error.code in _GONE:
                    gone_deadline = gone_deadline or self._deadline(_GONE_PATIENCE_MS)
                delay = self._backoff.next_ms() / 1000
                end = min(deadline, gone_deadline or deadline)
                if not error.is_retriable or time.monotonic() + delay > end:
                    raise
            time.sleep(delay)
            self._look_up_anew(deadline)

    def _read_from_one_connection(self) -> Iterator["pyarrow.RecordBatch"]:
        node, topic_id = self._access.leader_of(self._range.partition)
        if self._is_another(topic_id):  # or was, when this process last asked
            self._access.refresh(self._range.partition.topic)
            node, topic_id = self._access.leader_of(self._range.partition)
        if self._is_another(topic_id):
            raise TopicReplaced(f"topic {self._range.partition.topic!r} was deleted and made anew")
        connection = self._access.take(node.address)
        try:
            connection.send(self._request(self.position, topic_id))
            while self.position < self._range.end:
                yield from self._one_response(connection, topic_id)
        finally:
            self._access.put_back(connection)  # closes it where something is still on its way

    def _one_response(
        self, connection: "BlockingConnection", topic_id: bytes
    ) -> Iterator["pyarrow.RecordBatch"]:
        response: FetchResponse = connection.receive(timeout_ms=None)
        check(response.error_code, f"fetch from {connection.address}")
        data = response.responses[0].partitions[0]
        check(data.error_code, f"read {self._range.partition} at offset {self.position}")
        records = data.records
        try:
            if records is None or not len(records):
                self._take_nothing(data, response.throttle_time_ms)
                if self.position < self._range.end:
                    connection.send(self._request(self.position, topic_id))
                return
            self._empty = 0
            start = self.position
            batches = FetchedBatches(cast(memoryview, records), start)
            if batches.next_offset <= start:
                raise UnexpectedResponse(f"{self._range.partition} has no whole batch for offset {start}")
            if batches.next_offset < self._range.end:
                connection.send(self._request(batches.next_offset, topic_id))
            aborted = data.aborted_transactions or () if self._settings.is_read_committed else ()
            settings = self._settings
            yield from batches.pieces(
                start, self._range.end, settings.columns, aborted, self._scratch, settings.times
            )
            self.position = min(batches.next_offset, self._range.end)
        except RecordsError as error:
            what = f"what {self._range.partition} holds at offset {self.position} cannot be read"
            raise UnexpectedResponse(f"{what}: {error}") from None

    def _take_nothing(self, data: PartitionData, throttle_time_ms: int) -> None:
        """Nothing came. Where the log goes on behind the range, what was in it has been compacted away."""
        bound = data.last_stable_offset if self._settings.is_read_committed else data.high_watermark
        if throttle_time_ms:
            return
        self._empty += 1
        if self._empty >= _EMPTY_MAX:
            self._empty = 0
            if bound < self._range.end:
                raise BrokerError(
                    ErrorCode.OFFSET_NOT_AVAILABLE,
                    f"read {self._range.partition} up to offset {self._range.end}",
                    f"the log can be read up to {bound} only",
                )
            self.position = self._range.end

    def _request(self, offset: int, topic_id: bytes) -> FetchRequest:
        name, index = self._range.partition
        wanted = FetchPartition(index, fetch_offset=offset, partition_max_bytes=self._settings.fetch_bytes)
        return FetchRequest(
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=self._settings.fetch_bytes,
            isolation_level=int(self._settings.is_read_committed),
            session_epoch=_NO_SESSION,
            topics=[FetchTopic(name, topic_id, [wanted])],
        )

    def _is_another(self, topic_id: bytes) -> bool:
        """Old brokers have no ids, and old checkpoints did not keep them."""
        wanted = self._range.topic_id
        return topic_id != wanted and ZERO_UUID not in {topic_id, wanted}

    def _look_up_anew(self, deadline: float) -> None:
        """Ask who leads the partition now; that nobody answers is no reason to give up yet."""
        try:
            self._access.refresh(self._range.partition.topic)
        except ClientError as error:
            if not error.is_retriable or time.monotonic() > deadline:
                raise

    def _deadline(self, patience_ms: int) -> float:
        return time.monotonic() + patience_ms / 1000

    def _new_backoff(self) -> Backoff:
        settings = self._access.settings
        return Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random)
