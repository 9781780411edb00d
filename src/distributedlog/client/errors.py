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


class AuthenticationFailed(ClientError):
    """The broker does not believe who this client says it is, or asks for proof that it does not give."""


class InvalidOption(ClientError, ValueError):
    """An option has a value that it cannot have, or two options contradict each other."""


class UnknownOption(ClientError, TypeError):
    """There is no option of this name."""


class ClientClosed(ClientError):
    """The client was closed before this call, or while it waited."""


class ForkedClient(ClientError):
    """The client was made before a fork and is used in the child: its connections are not there."""


class BlockedLoop(ClientError):
    """A blocking call in the thread that would have to do the work: from a call-back of the client."""


class BufferFull(ClientError):
    """A producer's memory is full of records that no broker has taken yet."""

    is_retriable = True


class RecordTooLarge(ClientError, ValueError):
    """A record is larger than a request may be; no broker was asked."""


class CircuitOpen(ClientError):
    """So many sends failed one after another that the producer has stopped trying for a while."""

    is_retriable = True


class DeliveryTimedOut(ClientError):
    """No broker acknowledged a record within ``delivery_timeout_ms``. Whether one has it may not be known."""


class SerialisationFailed(ClientError, ValueError):
    """A serialiser refused a key or value, or a deserialiser what a record holds."""


class ProducerFenced(ClientError):
    """Another producer has taken over this transactional id: this one can only be closed."""


class TransactionAborted(ClientError):
    """A record or commit belonged to a transaction that was aborted, or can only be aborted now."""


class CommitFailed(ClientError):
    """Nothing was committed: the group has gone on without this member."""


class NoOffset(ClientError):
    """A partition has no committed offset, or its position is gone, and ``auto_offset_reset`` is ``none``."""


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
