"""One client's connection: bytes in, requests to the broker, responses out in the order of the requests.

What keeps a connection from getting ahead of its client or of the broker:

- a request of another API waits until the requests before it are answered, as in Kafka. Produce requests,
  and offset commits, go on together, so that those of one connection share an fsync;
- no request is taken while the client does not read its responses, while it is throttled (KIP-219), and
  while `max_in_flight` of its requests are unanswered; then its socket is not read either.
"""

import logging
from asyncio import BaseTransport, BufferedProtocol, TimerHandle, Transport
from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, cast

from distributedlog.broker.context import RequestContext
from distributedlog.broker.pending import CLOSE_CONNECTION, Pending
from distributedlog.server.exchange import Exchange
from distributedlog.server.outbox import Outbox, RegionGone
from distributedlog.server.receiver import Receiver, RefusedBytes
from distributedlog.wire import (
    ProtocolError,
    RequestHeader,
    decode_request_header,
    encode_response,
    encode_response_pieces,
)

PRODUCE: Final = 0
FETCH: Final = 1
OFFSET_COMMIT: Final = 8
JOIN_GROUP: Final = 11
SYNC_GROUP: Final = 14
API_VERSIONS: Final = 18
UNSUPPORTED_VERSION: Final = 35

#: Requests of these APIs need not wait for those of the same API before them.
GO_ON_TOGETHER: Final = frozenset({PRODUCE, OFFSET_COMMIT})
#: Requests that only wait for others; a broker that stops does not wait for them.
ONLY_WAITING: Final = frozenset({FETCH, JOIN_GROUP, SYNC_GROUP})

_FAILED: Final = object()

if TYPE_CHECKING:
    from distributedlog.server.listener import Listener

logger = logging.getLogger("distributedlog.server")


class Connection(BufferedProtocol):
    """Lives in the loop's thread. Its listener has what all connections share."""

    __slots__ = (
        "_held",
        "_in_flight",
        "_is_closing",
        "_is_reading",
        "_is_serving",
        "_is_throttled",
        "_listener",
        "_memory_taken",
        "_outbox",
        "_receiver",
        "_throttle_timer",
        "_transport",
        "_waits_for_memory",
        "client",
        "last_active",
    )

    def __init__(self, listener: "Listener") -> None:
        self._listener = listener
        self._receiver = Receiver(
            listener.shared_buffer, listener.config.socket_request_max_bytes, listener.known_keys
        )
        self._in_flight: deque[Exchange] = deque()
        self._held: bytearray | None = None
        self._is_reading = True
        self._is_serving = False
        self._is_throttled = False
        self._throttle_timer: TimerHandle | None = None
        self._is_closing = False
        self._waits_for_memory = False
        self._memory_taken = 0
        self.last_active = listener.now()

    # -- what the loop calls --------------------------------------------------------------------------

    def connection_made(self, transport: BaseTransport) -> None:
        self._transport = cast(Transport, transport)
        self._outbox = Outbox(self._transport)
        self.client = self._listener.new_client(self._transport)
        delay = self._listener.admit(self)
        if delay > 0:
            self._throttle(delay)

    def get_buffer(self, _hint: int) -> memoryview:
        return self._receiver.buffer()

    def buffer_updated(self, count: int) -> None:
        self.last_active = self._listener.now()
        self._listener.metrics.bytes_received += count
        self._receiver.received(count)
        self._serve()

    def pause_writing(self) -> None:
        self._outbox.pause()

    def resume_writing(self) -> None:
        self.last_active = self._listener.now()
        try:
            self._outbox.resume()
        except (RegionGone, OSError) as error:
            self._fail_to_send(error)
            return
        self._go_on()

    def eof_received(self) -> None:
        """The client sends no more; as in Kafka that is the end."""
        if self._receiver.has_part_of_a_frame and not self._is_closing:
            logger.info("%s went away after %s", self.client_address, self._receiver.progress)

    def connection_lost(self, _error: Exception | None) -> None:
        self._is_closing = True
        self._outbox.clear()
        self._held = None
        for exchange in self._in_flight:
            exchange.abandon()
        self._in_flight.clear()
        if self._throttle_timer is not None:
            self._throttle_timer.cancel()
        if self._waits_for_memory:
            self._listener.memory.forget(self._memory_granted)
        else:
            self._give_memory_back()
        self._listener.forget(self)

    # -- what the listener asks -------------------------------------------------------------------------

    @property
    def client_address(self) -> str:
        return f"{self.client.host}:{self.client.port}"

    @property
    def is_waiting(self) -> bool:
        """The client waits for us: such a connection is not idle. One that does not read its responses is."""
        waits = bool(self._in_flight) or self._is_throttled or self._waits_for_memory
        return waits and not self._is_closing and not self._outbox.is_blocked

    def refuse(self, reason: str) -> None:
        """Close at once, with the one line that says why."""
        if not self._is_closing:
            logger.warning("closed the connection from %s: %s", self.client_address, reason)
            self._close()

    def close_idle(self, idle_ms: int) -> None:
        """Close for silence. That is news only in the middle of a request."""
        if self._is_closing:
            self.abort()
        elif self._outbox.is_blocked:
            self.refuse(f"it has not read its responses for {idle_ms} ms")
        elif self._receiver.has_part_of_a_frame:
            self.refuse(f"it sent {self._receiver.progress}, and then nothing for {idle_ms} ms")
        else:
            logger.debug("closed the connection from %s: idle for %d ms", self.client_address, idle_ms)
            self.abort()

    def _close(self) -> None:
        """Close after what was answered already; a client that does not read that is cut off."""
        self._is_closing = True
        if self._outbox.is_blocked:
            self._transport.abort()
        else:
            self._transport.close()

    def abort(self) -> None:
        self._is_closing = True
        self._transport.abort()

    def drain(self) -> None:
        """Take no more requests, answer those that were taken, close."""
        if not self._is_closing:
            self._is_closing = True
            self._set_reading(False)
            self._close_when_drained()

    def _close_when_drained(self) -> None:
        only_waiting = all(exchange.api_key in ONLY_WAITING for exchange in self._in_flight)
        if only_waiting and not self._outbox.has_unread_pieces:
            self._transport.close()

    # -- requests ---------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Take what was received, as far as the client's own pace allows."""
        if self._is_serving:
            return
        self._is_serving = True
        try:
            wants_more = self._take_frames()
        except RefusedBytes as error:
            self.refuse(str(error))
            return
        except ProtocolError as error:
            self.refuse(f"its request is damaged: {error}")
            return
        finally:
            self._is_serving = False
            self._receiver.keep()
        if not self._is_closing:
            self._set_reading(wants_more)

    def _take_frames(self) -> bool:
        """Whether more may be received: nothing whole is left, and nothing is in the way."""
        receiver = self._receiver
        while not self.is_blocked:
            frame = self._held
            if frame is None:
                frame = receiver.next_frame()
                if frame is None:
                    return self._memory_for_frame()
            if self._in_flight and not self._may_go_on(frame):
                self._held = frame
                return False
            self._held = None
            if self._memory_taken:
                self._give_memory_back()
            self._handle(frame)
        return False

    @property
    def is_blocked(self) -> bool:
        return (
            self._is_closing
            or self._is_throttled
            or self._waits_for_memory
            or self._outbox.is_blocked
            or len(self._in_flight) >= self._listener.in_flight_max
        )

    def _may_go_on(self, frame: bytearray) -> bool:
        api_key = frame[0] << 8 | frame[1]
        return api_key in GO_ON_TOGETHER and self._in_flight[-1].api_key == api_key

    def _handle(self, frame: bytearray) -> None:
        started_ns = perf_counter_ns()
        listener = self._listener
        header = decode_request_header(frame)
        api_key, version = header.api_key, header.api_version
        served = listener.served_versions.get(api_key)
        if header.api is None or served is None or not served[0] <= version <= served[1]:
            self._handle_unserved(header, started_ns)
            return
        if api_key == PRODUCE and not self._in_flight:
            data = listener.answer_plain_produce(frame, header.body_position, version, listener.now_ms())
            if data is not None:
                self._send_plain(len(frame), data, started_ns)
                return
        request, _ = header.api.request(version).decode(frame, header.body_position)
        context = RequestContext(self.client, header.client_id or "", api_key, version, listener.now_ms())
        listener.metrics.request_bytes[api_key] += len(frame)
        self._dispatch(context, request, header.correlation_id, started_ns)

    def _send_plain(self, request_size: int, data: bytes, started_ns: int) -> None:
        metrics = self._listener.metrics
        metrics.request_bytes[PRODUCE] += request_size
        metrics.observe(PRODUCE, perf_counter_ns() - started_ns)
        metrics.bytes_sent += len(data)
        self._outbox.send(data)

    def _handle_unserved(self, header: RequestHeader, started_ns: int) -> None:
        """Only ApiVersions is answered: by version 0, which every client reads, with the list in it."""
        if header.api_key != API_VERSIONS:
            self.refuse(f"API key {header.api_key} in version {header.api_version} is not served here")
            return
        from distributedlog.wire.k18_api_versions import ApiVersionsRequest  # noqa: PLC0415  (rare)

        context = RequestContext(self.client, "", API_VERSIONS, 0, self._listener.now_ms())
        response = self._call(context, ApiVersionsRequest())
        if response is not _FAILED:
            response.error_code = UNSUPPORTED_VERSION
            self._respond(API_VERSIONS, 0, header.correlation_id, started_ns, response)

    def _dispatch(self, context: RequestContext, request: Any, correlation_id: int, started_ns: int) -> None:
        response = self._call(context, request)
        if response is _FAILED:
            return
        is_pending = isinstance(response, Pending)
        if not is_pending and not self._in_flight:
            self._respond(context.api_key, context.version, correlation_id, started_ns, response)
            return
        exchange = Exchange(context.api_key, context.version, correlation_id, started_ns, self._send_ready)
        self._in_flight.append(exchange)
        if is_pending:
            exchange.wait_for(response)
        else:
            exchange.complete(response)

    def _call(self, context: RequestContext, request: Any) -> Any:
        try:
            return self._listener.dispatch(context, request)
        except Exception:
            logger.exception(
                "closed the connection from %s: API key %d in version %d met a bug",
                self.client_address,
                context.api_key,
                context.version,
            )
            self.abort()
            return _FAILED

    # -- responses --------------------------------------------------------------------------------------

    def _send_ready(self) -> None:
        """Send what stands at the front and is done, then go on with what waited for it."""
        in_flight = self._in_flight
        while in_flight and in_flight[0].is_done:
            exchange = in_flight.popleft()
            self._respond(
                exchange.api_key,
                exchange.version,
                exchange.correlation_id,
                exchange.started_ns,
                exchange.response,
            )
        self._go_on()

    def _go_on(self) -> None:
        """Something that was in the way is not any more."""
        if self._is_closing:
            self._close_when_drained()
        else:
            self._serve()

    def _respond(
        self, api_key: int, version: int, correlation_id: int, started_ns: int, response: Any
    ) -> None:
        metrics = self._listener.metrics
        metrics.observe(api_key, perf_counter_ns() - started_ns)
        if response is None:
            return
        if response is CLOSE_CONNECTION:
            self._close()
            return
        try:
            if api_key == FETCH:
                pieces = encode_response_pieces(api_key, version, correlation_id, response)
                metrics.bytes_sent += sum(map(len, pieces))
                metrics.count_fetched(response)
                self._outbox.send_pieces(pieces)
            else:
                data = encode_response(api_key, version, correlation_id, response)
                metrics.bytes_sent += len(data)
                self._outbox.send(data)
        except Exception as error:  # noqa: BLE001
            self._fail_to_send(error)
            return
        throttle_time_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_time_ms > 0:
            self._throttle(throttle_time_ms)

    def _fail_to_send(self, error: Exception) -> None:
        logger.error(
            "closed the connection from %s: a response could not be sent", self.client_address, exc_info=error
        )
        self.abort()

    # -- what stops the reading of the socket -----------------------------------------------------------

    def _throttle(self, delay_ms: float) -> None:
        """Take nothing from the client for so long."""
        loop = self._listener.loop
        until = loop.time() + delay_ms / 1000
        if self._throttle_timer is not None:
            until = max(until, self._throttle_timer.when())
            self._throttle_timer.cancel()
        self._is_throttled = True
        self._set_reading(False)
        self._throttle_timer = loop.call_at(until, self._end_throttle)

    def _end_throttle(self) -> None:
        self._throttle_timer = None
        self._is_throttled = False
        self._go_on()

    def _memory_for_frame(self) -> bool:
        """Whether a request that comes in parts may go on coming."""
        size = self._receiver.own_frame_size
        if size == 0 or self._memory_taken:
            return True
        self._memory_taken = size
        self._waits_for_memory = not self._listener.memory.take(size, self._memory_granted)
        return not self._waits_for_memory

    def _memory_granted(self) -> None:
        self._waits_for_memory = False
        self._go_on()

    def _give_memory_back(self) -> None:
        size, self._memory_taken = self._memory_taken, 0
        if size:
            self._listener.memory.give_back(size)

    def _set_reading(self, wanted: bool) -> None:
        if wanted is not self._is_reading and not self._transport.is_closing():
            self._is_reading = wanted
            if wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()
