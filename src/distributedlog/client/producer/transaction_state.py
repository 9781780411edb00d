"""[pure] Where a transactional producer stands, and which step may follow."""

from enum import Enum, auto
from typing import Final

from distributedlog.client.errors import (
    BrokerError,
    ClientError,
    CommitFailed,
    ProducerFenced,
    TransactionAborted,
)
from distributedlog.wire import ErrorCode


class TransactionState(Enum):
    NEW = auto()
    """No producer id yet."""
    READY = auto()
    OPEN = auto()
    MUST_ABORT = auto()
    """Something of the open transaction failed."""
    ENDING = auto()
    DEAD = auto()
    """Fenced, or refused for good: only close is left."""


_FENCING: Final = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
_OF_THE_MEMBER: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)
_DEADLY: Final = frozenset(
    {
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)


def transaction_error(error: ClientError, transactional_id: str) -> ClientError:
    """The error as callers of a transactional producer get it."""
    if isinstance(error, BrokerError):
        if error.code in _FENCING:
            return ProducerFenced(
                f"another producer has taken over the transactional id {transactional_id!r}; close this one"
            )
        if error.code in _OF_THE_MEMBER:
            return CommitFailed(
                "the consumer's group has gone on without it, so its offsets cannot be committed with the "
                f"transaction ({error.name}): abort, and read again from the committed offsets"
            )
        if error.code == ErrorCode.TRANSACTION_ABORTABLE:
            return TransactionAborted(f"the coordinator asks to abort the transaction: {error.message}")
    return error


def is_deadly(error: ClientError) -> bool:
    """Whether nothing more can be done under this transactional id by this producer."""
    return isinstance(error, ProducerFenced) or (isinstance(error, BrokerError) and error.code in _DEADLY)
