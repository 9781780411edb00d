"""What may go wrong between bytes and messages."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.wire.headers import RequestHeader


class ProtocolError(Exception):
    """The bytes are not a message of the protocol. Decoding raises this and nothing else."""


class UnsupportedVersionError(ProtocolError):
    """The API key or the version is none that this codec knows.

    ``header`` is there when a request was to be decoded: its ``correlation_id`` is all that a broker
    needs to answer an ApiVersions request of a future version.
    """

    def __init__(self, api_key: int, version: int, header: "RequestHeader | None" = None) -> None:
        super().__init__(f"no codec for API key {api_key} in version {version}")
        self.api_key = api_key
        self.version = version
        self.header = header


class EncodeError(ValueError):
    """A message to encode holds a value that its field cannot carry. The text names the field."""


class UnsupportedFieldError(EncodeError):
    """A message to encode holds a value that the version has no field for."""
