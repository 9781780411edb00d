"""What may go wrong between a client and its cluster. The text of each is one sentence for people."""

from typing import cast

from distributedlog.wire import ErrorCode


class ClientError(Exception):
    """All that a client raises on purpose. ``is_retriable`` says whether the same again may succeed."""

    is_retriable = False


class InvalidBootstrap(ClientError, ValueError):
    """The list of addresses cannot be read."""


class ClusterUnreachable(ClientError):
    """No broker answers at any known address."""


class ConnectFailed(ClientError):
    """One broker cannot be connected to."""

    is_retriable = True


class ConnectionLost(ClientError):
    """A connection ended before a response came: whether the broker did the work is not known."""

    is_retriable = True


class RequestTimedOut(ClientError):
    """A broker took too long for a response."""

    is_retriable = True


class UnexpectedResponse(ClientError):
    """What came back is no response to what was asked: that is no Kafka broker, or a broken one."""


class UnsupportedByBroker(ClientError):
    """The broker does not serve the API, or in no version that this client knows."""


class BrokerError(ClientError):
    """The broker answered with an error code.

    ``what`` names what was to be done (``create topic orders``); ``message`` is the broker's own text, or
    the meaning of the code where it sent none.
    """

    def __init__(
        self, code: int, what: str, message: str | None = None, *, is_retriable: bool | None = None
    ) -> None:
        known = known_error(code)
        self.code = code
        self.name = known.name if known is not None else f"error {code}"
        self.what = what
        self.message = message or (known.message if known is not None else "a code that is not known here")
        if is_retriable is None:
            is_retriable = known is not None and known.retriable
        self.is_retriable = is_retriable
        super().__init__(f"{what}: {self.message.rstrip('. ')} ({self.name})")


def known_error(code: int) -> ErrorCode | None:
    """The error of this code; None for one that came with a later Kafka."""
    return cast(ErrorCode | None, ErrorCode._value2member_map_.get(code))


def check(code: int, what: str, message: str | None = None) -> None:
    """BrokerError unless the code means success."""
    if code != 0:
        raise BrokerError(code, what, message)
