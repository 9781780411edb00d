"""The one error inside of the coordinator, and how a failed append is told to clients."""

from typing import Final

from distributedlog.wire.error_codes import ErrorCode

MESSAGE_LENGTH_MAX: Final = 1_000


class GroupError(Exception):
    """A request is refused with this code. It never leaves the coordinator: it becomes a response."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.message)
        self.code = code
        #: Messages quote what came from outside, and must fit into a response.
        self.message = (message or code.message)[:MESSAGE_LENGTH_MAX]


_AS_SEEN_BY_CLIENTS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def client_error(append_error: ErrorCode) -> ErrorCode:
    """What a client is told when the coordinator's own append failed with this error.

    The storage's errors speak of ``__consumer_offsets``, of which clients know nothing: they are told
    to look for the coordinator again, or to try later.
    """
    return _AS_SEEN_BY_CLIENTS.get(append_error, append_error)
