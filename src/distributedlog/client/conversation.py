"""[pure] One connection's requests and responses, without the connection.

Bytes to send come out of `begin`, bytes received go into `receive`; what the socket does in between is
the business of ``connection.py``. A broker answers in the order of the requests, so a response with any
other correlation id than the oldest one's means that the stream is lost.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

from distributedlog.client.errors import UnexpectedResponse
from distributedlog.wire import (
    FRAME_SIZE_MAX,
    Api,
    ErrorCode,
    FrameSplitter,
    ProtocolError,
    decode_response,
    encode_request_pieces,
)

Waiter = TypeVar("Waiter")

API_VERSIONS: Final = 18
CORRELATION_ID_MAX: Final = 2**31 - 1
_ERROR_CODE_POSITION: Final = 4  # behind the correlation id


class Conversation(Generic[Waiter]):
    """Requests in flight, oldest first, each with whatever stands for who waits for it."""

    __slots__ = ("_client_id", "_in_flight", "_next_correlation_id", "_splitter")

    def __init__(self, client_id: str, response_size_max: int = FRAME_SIZE_MAX) -> None:
        self._client_id = client_id
        self._next_correlation_id = 0
        self._in_flight: deque[tuple[int, Api, int, Waiter]] = deque()
        self._splitter = FrameSplitter(response_size_max)

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def begin(self, api: Api, version: int, request: Any, waiter: Waiter) -> list[Any]:
        """The pieces of a request that will be answered."""
        correlation_id = self._next_correlation_id
        pieces = self.begin_unanswered(api, version, request)
        self._in_flight.append((correlation_id, api, version, waiter))
        return pieces

    def begin_unanswered(self, api: Api, version: int, request: Any) -> list[Any]:
        """The pieces of a request that the broker does not answer: Produce with acks=0."""
        pieces = encode_request_pieces(api.key, version, self._next_correlation_id, self._client_id, request)
        self._next_correlation_id = (self._next_correlation_id + 1) & CORRELATION_ID_MAX
        return pieces

    def receive(self, data: bytes) -> Iterator[tuple[Waiter, Any]]:
        """The responses that are complete now. After UnexpectedResponse the connection must be closed.

        One by one, so that what is sound before the damage still reaches who waits for it.
        """
        try:
            for frame in self._splitter.feed(data):
                yield self._answer(frame)
        except ProtocolError as error:
            raise UnexpectedResponse(
                f"what came back is not the Kafka protocol ({error}); is there a Kafka broker on this port?"
            ) from error

    def give_up(self) -> list[Waiter]:
        """All who wait; none of them will be answered any more."""
        waiters = [waiter for *_, waiter in self._in_flight]
        self._in_flight.clear()
        return waiters

    def _answer(self, frame: memoryview) -> tuple[Waiter, Any]:
        if not self._in_flight:
            raise ProtocolError(f"a response of {len(frame)} bytes that nobody asked for")
        expected, api, version, waiter = self._in_flight[0]
        if api.key == API_VERSIONS and _says_unsupported_version(frame):
            version = 0
        correlation_id, response = decode_response(api.key, version, frame)
        if correlation_id != expected:
            raise ProtocolError(f"correlation id {correlation_id} in place of {expected}")
        self._in_flight.popleft()
        return waiter, response


def _says_unsupported_version(frame: memoryview) -> bool:
    """Such an ApiVersions response has the body of version 0, whatever version was asked for (KIP-511)."""
    code = frame[_ERROR_CODE_POSITION : _ERROR_CODE_POSITION + 2]
    return int.from_bytes(code, signed=True) == ErrorCode.UNSUPPORTED_VERSION
