"""[io] From lanes to requests, and from answers to lanes: runs on the loop whenever something may move."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import TYPE_CHECKING, Final

from distributedlog.client.errors import (
    BrokerError,
    ClientError,
    ClusterUnreachable,
    DeliveryTimedOut,
    UnexpectedResponse,
    UnsupportedByBroker,
    check,
)
from distributedlog.client.producer.destination import Destination
from distributedlog.client.producer.identity import Identity
from distributedlog.client.producer.outcome import Verdict, error_of, verdict_on
from distributedlog.client.producer.settings import ACKS_NONE
from distributedlog.client.retry import Backoff
from distributedlog.wire import ErrorCode
from distributedlog.wire.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.producer.accumulator import Accumulator
    from distributedlog.client.producer.batch import Batch
    from distributedlog.client.producer.lane import Lane
    from distributedlog.client.producer.metrics import ProducerMetrics
    from distributedlog.client.producer.settings import ProducerSettings
    from distributedlog.client.producer.topic_keeper import TopicKeeper
    from distributedlog.client.producer.transaction_manager import TransactionManager

_NO_TRANSACTION_TIMEOUT: Final = 2**31 - 1
_BATCH_IN_REQUEST: Final = 100
"""What a batch takes of a request beside its records: header, topic, partition."""


class Sender:
    """`drain` is the heart: it sends all that may leave, and has itself called when more may."""

    def __init__(
        self,
        client: ClusterClient,
        accumulator: Accumulator,
        settings: ProducerSettings,
        metrics: ProducerMetrics,
        keeper: TopicKeeper,
    ) -> None:
        self._client = client
        self._accumulator = accumulator
        self._settings = settings
        self._metrics = metrics
        self._keeper = keeper
        self.transactions: TransactionManager | None = None
        self._breaker = settings.circuit_breaker
        self._acks = settings.acks_number
        self._codec = settings.compression_codec
        self._loop = asyncio.get_running_loop()
        self._destinations: dict[int, Destination] = {}
        self._identity: Identity | None = None
        self._is_idempotent = settings.is_idempotent
        self._obtaining: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = 0.0
        self._is_closed = False
        keeper.changed = self.drain
        keeper.gave_up = self.fail_all

    @property
    def in_flight(self) -> int:
        return sum(destination.in_flight for destination in self._destinations.values())

    async def close(self) -> None:
        self._is_closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        if self._obtaining is not None:
            self._obtaining.cancel()
            await asyncio.gather(self._obtaining, return_exceptions=True)
        for destination in self._destinations.values():
            await destination.close()

    # Sending

    def drain(self) -> None:
        """Send all that may leave now."""
        if self._is_closed:
            return
        now = self._loop.time()
        self._expire(now)
        is_more = True
        while is_more:
            requests, next_at, is_more = self._collect(now)
            for destination, batches in requests.items():
                self._send(destination, batches)
        self._set_alarm(now, next_at)

    def _collect(self, now: float) -> tuple[dict[Destination, list[Batch]], float | None, bool]:
        """At most one request for each broker, with at most one batch of each lane.

        Then when to look again, and whether to do so at once, since more may leave.
        """
        accumulator = self._accumulator
        is_more = False
        requests: dict[Destination, list[Batch]] = {}
        sizes: dict[Destination, int] = {}
        next_at: float | None = None
        with accumulator.lock:
            accumulator.is_awake = False
            identity = self._identity_now()
            for lane in list(accumulator.active):
                if lane.is_idle:
                    del accumulator.active[lane]
                    continue
                batch = lane.open
                if batch is not None and not lane.waiting:
                    ripe_at = accumulator.ripe_at(batch)
                    if now < ripe_at:
                        next_at = ripe_at if next_at is None else min(next_at, ripe_at)
                        continue
                if self._is_idempotent and identity is None:
                    self._obtain_identity()
                    continue
                destination = self._destination_of(lane)
                if destination is None or not destination.takes(now, self._settings.max_in_flight):
                    if destination is not None and now < destination.quiet_until:
                        wake_at = destination.quiet_until
                        next_at = wake_at if next_at is None else min(next_at, wake_at)
                    continue
                if self.transactions is not None and not self.transactions.admits(lane):
                    continue
                if batch is not None and not lane.waiting:
                    accumulator.close_open(lane)
                if (batch := lane.next_batch(now)) is None:
                    if lane.waiting and now < lane.retry_at:
                        next_at = lane.retry_at if next_at is None else min(next_at, lane.retry_at)
                    continue
                size = sizes.get(destination, 0) + batch.size + _BATCH_IN_REQUEST
                if destination in requests and size > self._settings.max_request_size:
                    is_more = True
                    continue
                sizes[destination] = size
                requests.setdefault(destination, []).append(lane.depart(identity))
                is_more |= bool(lane.waiting) or lane.open is not None
                del accumulator.active[lane]  # to the end: the next request is for others first
                accumulator.active[lane] = None
            oldest = next(iter(accumulator.unfinished), None)
            if oldest is not None:
                next_at = oldest.deadline if next_at is None else min(next_at, oldest.deadline)
        return requests, next_at, is_more

    def _destination_of(self, lane: Lane) -> Destination | None:
        leader_id = lane.leader_id
        if leader_id is None:
            self._keeper.refresh_soon()
            return None
        destination = self._destinations.get(leader_id)
        if destination is None:
            destination = Destination(self._client, leader_id, self.drain, self._connecting_failed)
            self._destinations[leader_id] = destination
        return destination

    def _send(self, destination: Destination, batches: list[Batch]) -> None:
        started = self._loop.time()
        topics: dict[str, TopicProduceData] = {}
        by_place: dict[tuple[str | bytes, int], Batch] = {}
        for batch in batches:
            place = batch.lane.partition
            topic_id = self._keeper.topic_id(place.topic)
            topic = topics.setdefault(place.topic, TopicProduceData(place.topic, topic_id))
            encoded = batch.encode(
                self._codec, self._settings.compression_level, self.transactions is not None
            )
            topic.partition_data.append(PartitionProduceData(place.partition, encoded))
            by_place[place.topic, place.partition] = by_place[topic_id, place.partition] = batch
            self._metrics.batches_sent += 1
            self._metrics.records_sent += batch.records_count
            self._metrics.bytes_sent += len(encoded)
            self._metrics.bytes_before_compression += batch.size
            self._metrics.batches_retried += batch.attempts > 1
        timeout_ms = self._client.settings.request_timeout_ms
        request = ProduceRequest(
            self._settings.transactional_id, self._acks, timeout_ms, list(topics.values())
        )
        version_max = None if self.transactions is None else self.transactions.produce_version_max
        connection = destination.connection
        assert connection is not None
        try:
            if self._acks == ACKS_NONE:
                connection.begin_unanswered(request, version_max=version_max)
                for batch in batches:
                    self._stored(batch, -1, -1)
                return
            answer = connection.begin(request, version_max=version_max)
        except ClientError as error:
            self._request_failed(batches, error)
            return
        destination.in_flight += 1
        self._metrics.requests_sent += 1
        timer = self._loop.call_later(timeout_ms / 1000, connection.give_up_on, request, timeout_ms)
        answer.add_done_callback(partial(self._answered, destination, batches, by_place, timer, started))

    # Answers

    def _answered(
        self,
        destination: Destination,
        batches: list[Batch],
        by_place: dict[tuple[str | bytes, int], Batch],
        timer: asyncio.TimerHandle,
        started: float,
        answer: asyncio.Future[ProduceResponse],
    ) -> None:
        destination.in_flight -= 1
        timer.cancel()
        if answer.cancelled():
            return
        if self._is_closed:
            answer.exception()  # looked at; its batches have ended
            return
        error = answer.exception()
        if error is not None:
            if not isinstance(error, ClientError):
                error = UnexpectedResponse(f"broker {destination.node_id}: {error!r}")
            self._request_failed(batches, error)
        else:
            self._metrics.answered_after(self._loop.time() - started)
            self._take(destination, batches, by_place, answer.result())
        self.drain()

    def _take(
        self,
        destination: Destination,
        batches: list[Batch],
        by_place: dict[tuple[str | bytes, int], Batch],
        response: ProduceResponse,
    ) -> None:
        if response.throttle_time_ms:
            self._metrics.throttled_ms_total += response.throttle_time_ms
            destination.quiet_until = self._loop.time() + response.throttle_time_ms / 1000
        undecided = dict.fromkeys(batches)
        is_any_stored = False
        for topic in response.responses:
            for result in topic.partition_responses:
                batch = by_place.get((topic.name or topic.topic_id, result.index))
                if batch in undecided:
                    del undecided[batch]
                    is_any_stored |= self._decide(batch, result)
        self._tell_breaker(is_any_stored)
        if undecided:
            what = f"broker {destination.node_id} did not say what became of {len(undecided)} batches"
            self._request_failed(list(undecided), UnexpectedResponse(what))

    def _decide(self, batch: Batch, result: PartitionProduceResponse) -> bool:
        """Do what the answer asks for; whether the broker has the batch."""
        lane, code = batch.lane, result.error_code
        verdict = verdict_on(code, is_transactional=self.transactions is not None)
        if verdict is Verdict.STORED:
            self._stored(batch, result.base_offset, result.log_append_time_ms)
            return True
        message = result.error_message
        batch.record_errors = {
            each.batch_index: each.batch_index_error_message or message or "the broker refused this record"
            for each in result.record_errors
        }
        error = error_of(code, lane.partition, message)
        if verdict is Verdict.OUT_OF_ORDER and not lane.is_oldest(batch):
            verdict = Verdict.AGAIN
        if verdict is Verdict.SPLIT and batch.can_split():
            self._split(batch)
        elif verdict is Verdict.AGAIN:
            self._again(batch, error)
        elif verdict is Verdict.AGAIN_ELSEWHERE:
            self._keeper.refresh_soon()
            self._again(batch, error)
        elif verdict is Verdict.OUT_OF_ORDER and self._is_idempotent and self.transactions is None:
            self._begin_anew(lane)
            self._again(batch, error)
        else:
            self._refused(batch, error)
        return False

    def _tell_breaker(self, is_well: bool) -> None:
        if self._breaker is not None:
            if is_well:
                self._breaker.succeeded()
            else:
                self._breaker.failed()

    def _stored(self, batch: Batch, base_offset: int, log_append_time_ms: int) -> None:
        if not batch.is_done:
            self._metrics.records_acknowledged += batch.records_count
        with self._accumulator.lock:
            batch.lane.arrived(batch)
        self._finish(batch, base_offset, log_append_time_ms, None)

    def _refused(self, batch: Batch, error: ClientError) -> None:
        with self._accumulator.lock:
            batch.lane.refused(batch)
        self._fail(batch, error)

    def _request_failed(self, batches: list[Batch], error: ClientError) -> None:
        """What became of the batches is not known, or they never left."""
        self._metrics.requests_failed += 1
        self._tell_breaker(False)
        self._keeper.refresh_soon()
        is_worth_a_retry = error.is_retriable or isinstance(error, UnexpectedResponse)
        for batch in batches:
            if is_worth_a_retry:
                self._again(batch, error)
            else:
                self._refused(batch, error)

    def _again(self, batch: Batch, error: ClientError) -> None:
        lane = batch.lane
        if batch.is_done or batch.attempts > self._settings.retries:
            with self._accumulator.lock:
                lane.refused(batch)
            self._fail(batch, error)
            return
        batch.error = error
        if lane.backoff is None:
            settings = self._client.settings
            lane.backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random)
        with self._accumulator.lock:
            lane.come_back(batch, self._loop.time() + lane.backoff.next_ms() / 1000)
            self._accumulator.active[lane] = None

    def _split(self, batch: Batch) -> None:
        """Send its halves in its place: together they have exactly its sequences."""
        self._metrics.batches_split += 1
        lane = batch.lane
        with self._accumulator.lock:
            lane.refused(batch)
            parts = batch.split()
            for part in parts:
                part.attempts = 1
                lane.put_back(part)
                self._accumulator.unfinished[part] = None
                self._accumulator.buffered_bytes += part.size
            lane.is_recovering = True
            self._accumulator.active[lane] = None
        for part in parts:
            self._accumulator.add_callback(part, partial(self._part_done, batch))

    def _part_done(self, whole: Batch) -> None:
        if all(part.is_done for _, part in whole.parts):
            self._accumulator.finish(whole, -1, -1, None)

    # What goes wrong

    def _connecting_failed(self, destination: Destination, error: ClientError) -> None:
        self._tell_breaker(False)
        if error.is_retriable or isinstance(error, ClusterUnreachable):
            self._keeper.refresh_soon()
        else:
            for lane in list(self._accumulator.active):
                if lane.leader_id == destination.node_id:
                    self._fail_lane(lane, error)
        self.drain()

    def _expire(self, now: float) -> None:
        """End what has been on its way for too long; unfinished batches are in the order of their age."""
        expired = []
        with self._accumulator.lock:
            for batch in self._accumulator.unfinished:
                if now < batch.deadline:
                    break
                expired.append(batch)
            for batch in expired:
                lane = batch.lane
                if lane.open is batch:
                    batch.close()
                    lane.open = None
                elif batch in lane.waiting:
                    lane.waiting.remove(batch)
        for batch in expired:
            self._fail(batch, self._timed_out(batch))

    def _timed_out(self, batch: Batch) -> DeliveryTimedOut:
        timeout = f"delivery_timeout_ms={self._settings.delivery_timeout_ms:g}"
        last = batch.error or self._keeper.last_error
        reason = f"; the last error was: {last}" if last is not None else ""
        fate = "; the broker may have them all the same" if batch.attempts else ""
        what = f"records for {batch.lane.partition} were not acknowledged within {timeout}"
        return DeliveryTimedOut(f"{what}{reason}{fate}")

    def fail_all(self, error: ClientError, topic: str | None = None) -> None:
        """End all batches, or those of one topic, with this error."""
        for lane in list(self._accumulator.active):
            if topic is None or lane.partition.topic == topic:
                self._fail_lane(lane, error)

    def end_all(self, error: ClientError) -> None:
        """Close: nothing is sent any more, and every batch that is not done ends with this error."""
        self._is_closed = True
        self.fail_all(error)
        for batch in list(self._accumulator.unfinished):
            self._fail(batch, error)

    def drop_waiting(self, error: ClientError) -> None:
        """End all batches that no broker has been sent yet."""
        for lane in list(self._accumulator.active):
            with self._accumulator.lock:
                if lane.open is not None:
                    self._accumulator.close_open(lane)
                unsent = [batch for batch in lane.waiting if not batch.attempts]
                for batch in unsent:
                    lane.waiting.remove(batch)
            for batch in unsent:
                self._finish(batch, -1, -1, error)

    def _fail_lane(self, lane: Lane, error: ClientError) -> None:
        with self._accumulator.lock:
            batches = lane.unfinished()
            if lane.open is not None:
                lane.open.close()
            lane.open = None
            lane.waiting.clear()
        for batch in batches:
            self._fail(batch, error)

    def _fail(self, batch: Batch, error: ClientError) -> None:
        if not batch.is_done:
            self._metrics.records_failed += batch.records_count
            if self.transactions is not None:
                self.transactions.record_failed(error)
        self._finish(batch, -1, -1, error)

    def _finish(self, batch: Batch, base_offset: int, time_ms: int, error: ClientError | None) -> None:
        for _, part in batch.parts:
            self._accumulator.finish(part, base_offset, time_ms, error)
        self._accumulator.finish(batch, base_offset, time_ms, error)

    # Identity

    def _identity_now(self) -> Identity | None:
        return self._identity if self.transactions is None else self.transactions.identity

    def _begin_anew(self, lane: Lane) -> None:
        """The lane's numbers are of no use any more: the next epoch's begin from nought (KIP-360)."""
        with self._accumulator.lock:
            lane.begin_anew()
        if self._identity is not None and lane.identity == self._identity:
            self._metrics.epoch_bumps += 1
            self._identity = self._identity.bumped()

    def _obtain_identity(self) -> None:
        if self.transactions is None and self._obtaining is None:
            self._obtaining = self._loop.create_task(self._init_producer_id())

    async def _init_producer_id(self) -> None:
        async def attempt() -> InitProducerIdResponse:
            request = InitProducerIdRequest(None, _NO_TRANSACTION_TIMEOUT)
            response: InitProducerIdResponse = await self._client.ask_any(request)
            check(response.error_code, "get a producer id")
            return response

        try:
            response = await self._client.retrying(attempt)
            self._identity = Identity(response.producer_id, response.producer_epoch)
        except UnsupportedByBroker as error:
            self._do_without_identity(error)
        except BrokerError as error:
            if error.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                self._do_without_identity(error)
            elif not error.is_retriable:
                self.fail_all(error)
        except ClientError as error:
            if not error.is_retriable and not isinstance(error, ClusterUnreachable):
                self.fail_all(error)
        self._obtaining = None
        self.drain()

    def _do_without_identity(self, error: ClientError) -> None:
        """Idempotence that nobody asked for is not missed; who asked for it must know."""
        if self._settings.enable_idempotence:
            self.fail_all(error)
        else:
            self._is_idempotent = False

    # Time

    def _set_alarm(self, now: float, next_at: float | None) -> None:
        """Look again when a linger, a pause or the life of the oldest batch ends.

        An alarm that comes too early does no harm, and costs less than a new one for every batch.
        """
        if next_at is None:
            return
        if self._alarm is not None:
            if self._alarm_at <= next_at:
                return
            self._alarm.cancel()
        self._alarm_at = max(next_at, now)
        self._alarm = self._loop.call_at(self._alarm_at, self._alarmed)

    def _alarmed(self) -> None:
        """A loop's clock is coarse: this may be called a little before the moment that was asked for."""
        self._alarm = None
        self.drain()
