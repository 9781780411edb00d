"""The Kafka protocol as functions from bytes to messages and back. No sockets, no clock.

    header, message = decode_request(frame)
    pieces = encode_response_pieces(header.api_key, header.api_version, header.correlation_id, answer)

Messages are the dataclasses of the ``kNN_*`` modules, imported from there; `APIS` lists them. What
travels inside of messages as bytes (the consumer protocol, the records of the internal topics) is in
``distributedlog.wire.values``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from distributedlog.wire.apis import ADVERTISED_VERSIONS, APIS, Api, api_of
from distributedlog.wire.errors import (
    EncodeError,
    ProtocolError,
    UnsupportedFieldError,
    UnsupportedVersionError,
)
from distributedlog.wire.frames import (
    FRAME_SIZE_MAX,
    FrameSplitter,
    decode_request,
    decode_response,
    encode_request,
    encode_request_pieces,
    encode_response,
    encode_response_pieces,
)
from distributedlog.wire.headers import RequestHeader, decode_request_header

if TYPE_CHECKING:
    from distributedlog.wire.error_codes import ErrorCode
    from distributedlog.wire.schema import ZERO_UUID, Region

_IMPORTED_ON_USE = {
    "ErrorCode": "distributedlog.wire.error_codes",
    "Region": "distributedlog.wire.schema",
    "ZERO_UUID": "distributedlog.wire.schema",
}

__all__ = [
    "ADVERTISED_VERSIONS",
    "APIS",
    "FRAME_SIZE_MAX",
    "ZERO_UUID",
    "Api",
    "EncodeError",
    "ErrorCode",
    "FrameSplitter",
    "ProtocolError",
    "Region",
    "RequestHeader",
    "UnsupportedFieldError",
    "UnsupportedVersionError",
    "api_of",
    "decode_request",
    "decode_request_header",
    "decode_response",
    "encode_request",
    "encode_request_pieces",
    "encode_response",
    "encode_response_pieces",
]


def __getattr__(name: str) -> Any:
    """Names whose module a process may well do without, or needs later than at its start."""
    if name in _IMPORTED_ON_USE:
        return getattr(import_module(_IMPORTED_ON_USE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
