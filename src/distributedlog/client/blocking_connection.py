"""[io] One connection without an event loop, for bulk reading by a thread that has nothing else to do.

Responses are received into one buffer that is used again for the next one, so that a gigabyte passes
through a few megabytes of memory. What `receive` returns is therefore valid until the next `receive`.
"""

import select
import socket
import ssl
from collections import deque
from collections.abc import Coroutine
from struct import Struct
from typing import Any, Final, TypeVar

from distributedlog.client.addresses import Address
from distributedlog.client.authentication import authenticate, tls_context
from distributedlog.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ConnectFailed,
    ConnectionLost,
    RequestTimedOut,
    UnexpectedResponse,
)
from distributedlog.client.negotiation import BrokerVersions, api_of_request
from distributedlog.client.settings import ClientSettings
from distributedlog.version import VERSION
from distributedlog.wire import APIS, Api, ErrorCode, ProtocolError, decode_response, encode_request
from distributedlog.wire.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse

_API_VERSIONS: Final = 18
_SIZE: Final = Struct(">i")
_FIRST_BUFFER_SIZE: Final = 64 * 1024
_RECEIVE_BUFFER_SIZE: Final = 4 << 20
_SOFTWARE_NAME: Final = "distributedlog"

Result = TypeVar("Result")


class BlockingConnection:
    """Made by `open`. Any number of requests may be sent before their responses are received, in order.

    Any error but a broker's refusal leaves the connection unusable: `close` it.
    """

    def __init__(self, stream: socket.socket, address: Address, settings: ClientSettings) -> None:
        self.address = address
        self.versions = BrokerVersions({})
        self._stream = stream
        self._settings = settings
        self._next_correlation_id = 0
        self._in_flight: deque[tuple[int, Api, int]] = deque()
        self._buffer = bytearray(_FIRST_BUFFER_SIZE)
        self._size = memoryview(bytearray(_SIZE.size))

    @classmethod
    def open(cls, address: Address, settings: ClientSettings) -> "BlockingConnection":
        """Connect, agree on versions and prove who this is."""
        stream = _connect(address, settings)
        connection = cls(stream, address, settings)
        try:
            connection._agree_on_versions()
            _run(authenticate(connection._ask_as_async, settings, str(address)))
        except ConnectionLost as error:
            connection.close()
            raise ConnectFailed(f"{address} took a connection and ended it: {error}") from error
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def ask(self, request: Any, *, timeout_ms: int | None = None) -> Any:
        """Send one request and wait for its response; nothing else may be in flight."""
        self.send(request)
        return self.receive(timeout_ms=timeout_ms)

    def send(self, request: Any) -> None:
        """Send in the highest version that both sides know."""
        api = api_of_request(request)
        self._send(api, self.versions.version_for(api), request)

    def receive(self, *, timeout_ms: int | None = None) -> Any:
        """The response to the oldest request in flight; its records are a view of a buffer used again."""
        correlation_id, api, version = self._in_flight.popleft()
        patience_ms = timeout_ms or self._settings.request_timeout_ms
        try:
            self._stream.settimeout(patience_ms / 1000)
            frame = self._receive_frame()
        except TimeoutError:
            raise RequestTimedOut(
                f"{self.address} did not answer {api.name} within {patience_ms / 1000:g} s"
            ) from None
        except OSError as error:
            raise ConnectionLost(f"the connection to {self.address} ended: {_reason(error)}") from None
        try:
            if api.key == _API_VERSIONS and _says_unsupported_version(frame):
                version = 0
            answered, response = decode_response(api.key, version, frame)
        except ProtocolError as error:
            raise UnexpectedResponse(f"{self.address}: what came back is not {api.name}: {error}") from error
        if answered != correlation_id:
            what = f"correlation id {answered} in place of {correlation_id}"
            raise UnexpectedResponse(f"{self.address}: {what}")
        return response

    @property
    def is_usable(self) -> bool:
        """Whether the next request can be sent here: nothing is in flight and the broker has not hung up."""
        if self._in_flight or self._stream.fileno() < 0:
            return False
        # An idle connection has nothing to say; what can be read is its end.
        # (`select.select` would refuse a descriptor from 1024 on.)
        watched = select.poll()
        watched.register(self._stream, select.POLLIN)
        return not watched.poll(0)

    def close(self) -> None:
        self._stream.close()

    def _agree_on_versions(self) -> None:
        api = APIS[_API_VERSIONS]
        version = api.last
        while True:
            self._send(api, version, ApiVersionsRequest(_SOFTWARE_NAME, VERSION))
            response: ApiVersionsResponse = self.receive()
            self.versions = BrokerVersions.from_response(response)
            if response.error_code == ErrorCode.NONE:
                return
            if response.error_code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
                raise BrokerError(response.error_code, f"agree on versions with {self.address}")
            version = min(version - 1, self.versions.version_for(api) if response.api_keys else 0)

    async def _ask_as_async(self, request: Any) -> Any:
        return self.ask(request)

    def _send(self, api: Api, version: int, request: Any) -> None:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        frame = encode_request(api.key, version, correlation_id, self._settings.client_id, request)
        try:
            self._stream.settimeout(self._settings.request_timeout_ms / 1000)
            self._stream.sendall(frame)
        except OSError as error:
            raise ConnectionLost(f"the connection to {self.address} ended: {_reason(error)}") from None
        self._in_flight.append((correlation_id, api, version))

    def _receive_frame(self) -> memoryview:
        self._fill(self._size)
        size: int = _SIZE.unpack(self._size)[0]
        if not 0 <= size <= self._settings.response_size_max:
            raise UnexpectedResponse(
                f"{self.address} announces a response of {size} bytes; is there a Kafka broker on this port?"
            )
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        frame = memoryview(self._buffer)[:size]
        self._fill(frame)
        return frame

    def _fill(self, view: memoryview) -> None:
        filled = 0
        while filled < len(view):
            received = self._stream.recv_into(view[filled:])
            if not received:
                raise ConnectionLost(f"the connection to {self.address} ended: the broker closed it")
            filled += received


def _connect(address: Address, settings: ClientSettings) -> socket.socket:
    seconds = settings.socket_connection_setup_timeout_ms / 1000
    try:
        stream = socket.create_connection(address, timeout=seconds)
    except TimeoutError:
        raise ConnectFailed(f"{address} did not take a connection within {seconds:g} s") from None
    except OSError as error:
        raise ConnectFailed(f"cannot connect to {address}: {_reason(error)}") from None
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_SIZE)
    context = tls_context(settings)
    if context is None:
        return stream
    try:
        return context.wrap_socket(stream, server_hostname=address.host)
    except ssl.SSLError as error:
        stream.close()
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        raise AuthenticationFailed(f"no encrypted connection to {address}: {reason}") from None
    except OSError as error:
        stream.close()
        raise ConnectFailed(f"cannot connect to {address}: {_reason(error)}") from None


def _run(steps: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine that never waits: everything it asks has been answered when it asks."""
    try:
        steps.send(None)
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]
    raise RuntimeError("a coroutine that was to run through has stopped to wait")


def _says_unsupported_version(frame: memoryview) -> bool:
    return int.from_bytes(frame[4:6], signed=True) == ErrorCode.UNSUPPORTED_VERSION


def _reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return error.strerror or str(error) or type(error).__name__
