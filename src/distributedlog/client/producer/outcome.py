"""[pure] What a broker's answer means for a batch."""

from enum import Enum, auto
from typing import Final

from distributedlog.client.errors import BrokerError, ClientError, ProducerFenced, known_error
from distributedlog.wire import ErrorCode


class Verdict(Enum):
    """What to do with a batch."""

    STORED = auto()
    AGAIN = auto()
    AGAIN_ELSEWHERE = auto()
    """The partition's leader is another one now, or the topic is gone: look before the next try."""
    OUT_OF_ORDER = auto()
    """The broker misses something before it: try again when all before is decided, else begin anew."""
    SPLIT = auto()
    REFUSED = auto()
    FENCED = auto()


_VERDICTS: Final = {
    ErrorCode.NONE: Verdict.STORED,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: Verdict.STORED,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: Verdict.AGAIN_ELSEWHERE,
    ErrorCode.LEADER_NOT_AVAILABLE: Verdict.AGAIN_ELSEWHERE,
    ErrorCode.FENCED_LEADER_EPOCH: Verdict.AGAIN_ELSEWHERE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Verdict.AGAIN_ELSEWHERE,
    ErrorCode.UNKNOWN_TOPIC_ID: Verdict.AGAIN_ELSEWHERE,
    ErrorCode.KAFKA_STORAGE_ERROR: Verdict.AGAIN_ELSEWHERE,
    ErrorCode.REPLICA_NOT_AVAILABLE: Verdict.AGAIN_ELSEWHERE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: Verdict.OUT_OF_ORDER,
    ErrorCode.UNKNOWN_PRODUCER_ID: Verdict.OUT_OF_ORDER,
    ErrorCode.INVALID_PRODUCER_EPOCH: Verdict.OUT_OF_ORDER,
    ErrorCode.MESSAGE_TOO_LARGE: Verdict.SPLIT,
    ErrorCode.PRODUCER_FENCED: Verdict.FENCED,
}


def verdict_on(error_code: int, *, is_transactional: bool) -> Verdict:
    """Codes that have no meaning of their own here are retriable or not, as Kafka's table says.

    A transactional producer cannot begin its sequences anew by itself: its transaction has to be aborted,
    and only then does it turn out whether an old epoch means that it is fenced (KIP-588).
    """
    known = known_error(error_code)
    if known is None:
        return Verdict.REFUSED
    if is_transactional and known is ErrorCode.INVALID_PRODUCER_EPOCH:
        return Verdict.REFUSED
    default = Verdict.AGAIN if known.retriable else Verdict.REFUSED
    return _VERDICTS.get(known, default)


def error_of(error_code: int, place: object, message: str | None) -> ClientError:
    """The error that a record's future ends in."""
    if error_code == ErrorCode.PRODUCER_FENCED:
        return ProducerFenced(
            f"write to {place}: another producer has taken over this transactional id; close this one"
        )
    if error_code == ErrorCode.MESSAGE_TOO_LARGE:
        message = message or "the topic's max.message.bytes is smaller: raise it, or send smaller records"
    return BrokerError(error_code, f"write to {place}", message)
