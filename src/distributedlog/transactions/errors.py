"""The one error inside of the coordinator, and the names that older clients know for errors."""

from typing import Final

from distributedlog.wire.error_codes import ErrorCode

#: The versions from which on clients know PRODUCER_FENCED.
ADD_FENCED_VERSION: Final = 2
END_FENCED_VERSION: Final = 2
INIT_FENCED_VERSION: Final = 4


class TransactionError(Exception):
    """A request is refused with this code. It never leaves the coordinator: it becomes a response."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.message)
        self.code = code


def error_for(code: ErrorCode, api_version: int, fenced_version: int) -> ErrorCode:
    """The error as a client of this version understands it."""
    if code is ErrorCode.PRODUCER_FENCED and api_version < fenced_version:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
