"""Why a part of a request was not carried out, in the words of its response [pure]."""

from distributedlog.wire.error_codes import ErrorCode


class Refused(Exception):
    """Raised within a decision, and answered: the rest of the request goes on."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or error.message)
        self.code = int(error)
        self.message = message or error.message
