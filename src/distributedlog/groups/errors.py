"""The one error inside of the coordinator."""

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
