"""[io] One connection to one broker: pipelined requests, each answered or failed, never forgotten."""

import asyncio
import ssl
from typing import Any, cast

from distributedlog.client.addresses import Address
from distributedlog.client.authentication import authenticate, tls_context
from distributedlog.client.conversation import API_VERSIONS, Conversation
from distributedlog.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    ConnectFailed,
    ConnectionLost,
    RequestTimedOut,
    UnexpectedResponse,
)
from distributedlog.client.negotiation import BrokerVersions, api_of_request
from distributedlog.client.settings import ClientSettings
from distributedlog.version import VERSION
from distributedlog.wire import APIS, Api, ErrorCode
from distributedlog.wire.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse

SOFTWARE_NAME = "distributedlog"
CLOSING_SECONDS_MAX = 1.0
"""So long a closed connection may take to send what was written before: a peer may take nothing more."""


class Connection(asyncio.Protocol):
    """Made by `open`, which returns once the versions are agreed.

    Any number of requests may be on their way at once; the broker answers them in order. Who stops
    waiting (is cancelled) leaves the others undisturbed. A request that times out closes the connection:
    what was asked behind it would wait for the same broker.
    """

    def __init__(self, address: Address, settings: ClientSettings) -> None:
        self.address = address
        self.versions = BrokerVersions({})
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._conversation: Conversation[asyncio.Future[Any]] = Conversation(
            settings.client_id, settings.response_size_max
        )
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._closed = self._loop.create_future()
        self._cause: ClientError | None = None

    @classmethod
    async def open(cls, address: Address, settings: ClientSettings) -> "Connection":
        """Connect and ask for the broker's versions."""
        loop = asyncio.get_running_loop()
        seconds = settings.socket_connection_setup_timeout_ms / 1000
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: cls(address, settings), address.host, address.port, ssl=tls_context(settings)
                )
        except TimeoutError:
            raise ConnectFailed(f"{address} did not take a connection within {seconds:g} s") from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or error.reason or str(error)
            raise AuthenticationFailed(f"no encrypted connection to {address}: {reason}") from None
        except OSError as error:
            raise ConnectFailed(f"cannot connect to {address}: {_reason(error)}") from None
        try:
            await connection._agree_on_versions()
            await authenticate(connection.request, settings, str(address))
        except ConnectionLost as error:
            await connection.close()
            raise ConnectFailed(f"{address} took a connection and ended it: {_hint(settings)}") from error
        except BaseException:
            await connection.close()
            raise
        return connection

    @property
    def is_closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    async def request(
        self, request: Any, *, version_max: int | None = None, timeout_ms: int | None = None
    ) -> Any:
        """Send a request dataclass in the highest common version and return the response dataclass.

        Error codes inside of the response are the caller's to look at.
        """
        api = api_of_request(request)
        version = self.versions.version_for(api, version_max)
        return await self._exchange(api, version, request, timeout_ms or self._settings.request_timeout_ms)

    def begin(self, request: Any, *, version_max: int | None = None) -> "asyncio.Future[Any]":
        """As `request`, but sent now, without waiting for room to write: the caller bounds what is in flight.

        The time that the answer may take is the caller's business too: see `give_up_on`.
        """
        if self.is_closed:
            raise self._cause or ConnectionLost(f"the connection to {self.address} is closed")
        api = api_of_request(request)
        version = self.versions.version_for(api, version_max)
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._write_now(self._conversation.begin(api, version, request, answer))
        return answer

    def begin_unanswered(self, request: Any, *, version_max: int | None = None) -> None:
        """Send a request that gets no response, now: Produce with acks=0."""
        if self.is_closed:
            raise self._cause or ConnectionLost(f"the connection to {self.address} is closed")
        api = api_of_request(request)
        version = self.versions.version_for(api, version_max)
        self._write_now(self._conversation.begin_unanswered(api, version, request))

    def give_up_on(self, request: Any, timeout_ms: int) -> None:
        """Close the connection: a request that was begun has not been answered in time."""
        name = api_of_request(request).name
        error = f"{self.address} did not answer {name} within {timeout_ms / 1000:g} s"
        self._break_off(RequestTimedOut(error))

    @property
    def is_congested(self) -> bool:
        """Whether the broker takes less than is being sent: wait for `writable`."""
        return not self._writable.is_set()

    async def writable(self) -> None:
        """Until more can be sent, or the connection has ended."""
        await self._writable.wait()

    async def send(self, request: Any, *, version_max: int | None = None) -> None:
        """Send a request that gets no response: Produce with acks=0."""
        await self._wait_until_writable()
        self.begin_unanswered(request, version_max=version_max)

    async def close(self) -> None:
        """Whoever still waits gets ConnectionLost. Cancelled meanwhile, it is closed all the same."""
        if self._transport is None:
            return
        self._transport.close()
        if not self._closed.done():
            last_moment = self._loop.call_later(CLOSING_SECONDS_MAX, self._transport.abort)
            try:
                await asyncio.shield(self._closed)
            finally:
                last_moment.cancel()
                self._transport.abort()

    async def _agree_on_versions(self) -> None:
        api = APIS[API_VERSIONS]
        version = api.last
        while True:
            hello = ApiVersionsRequest(SOFTWARE_NAME, VERSION)
            response: ApiVersionsResponse = await self._exchange(
                api, version, hello, self._settings.request_timeout_ms
            )
            self.versions = BrokerVersions.from_response(response)
            if response.error_code == ErrorCode.NONE:
                return
            if response.error_code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
                raise BrokerError(response.error_code, f"agree on versions with {self.address}")
            # Brokers before Kafka 2.4 list nothing in this answer: then version 0 is all that is sure.
            version = min(version - 1, self.versions.version_for(api) if response.api_keys else 0)

    async def _exchange(self, api: Api, version: int, request: Any, timeout_ms: int) -> Any:
        answer: asyncio.Future[Any] = self._loop.create_future()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._wait_until_writable()
                self._write_now(self._conversation.begin(api, version, request, answer))
                return await answer
        except TimeoutError:
            error = RequestTimedOut(
                f"{self.address} did not answer {api.name} within {timeout_ms / 1000:g} s"
            )
            self._break_off(ConnectionLost(f"the connection to {self.address} was given up: {error}"))
            raise error from None

    async def _wait_until_writable(self) -> None:
        await self._writable.wait()
        if self.is_closed:
            raise self._cause or ConnectionLost(f"the connection to {self.address} is closed")

    def _write_now(self, pieces: list[Any]) -> None:
        cast(asyncio.Transport, self._transport).writelines(pieces)

    def _break_off(self, cause: ClientError) -> None:
        if self._cause is None:
            self._cause = cause
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        try:
            for waiter, response in self._conversation.receive(data):
                if not waiter.done():
                    waiter.set_result(response)
        except UnexpectedResponse as error:
            self._break_off(UnexpectedResponse(f"{self.address}: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._cause is None:
            reason = "the broker closed it" if exc is None else _reason(exc)
            self._cause = ConnectionLost(f"the connection to {self.address} ended: {reason}")
        self._writable.set()
        for waiter in self._conversation.give_up():
            if not waiter.done():
                waiter.set_exception(self._cause)
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()


def _hint(settings: ClientSettings) -> str:
    """A broker hangs up on whoever speaks another security protocol than it does."""
    if settings.security_protocol == "PLAINTEXT":
        return "it may want TLS, or another protocol than Kafka's may live there"
    return f"it may not speak {settings.security_protocol} on this port"


def _reason(error: BaseException) -> str:
    """The operating system's words, without its numbers; asyncio wraps them when it tried many addresses."""
    if isinstance(error, OSError) and error.strerror and not error.strerror.startswith("Connect call"):
        return error.strerror
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return str(error) or type(error).__name__
