"""Frames: a size prefix of four bytes, a header and a message; and their way out of a byte stream."""

from struct import Struct
from struct import error as struct_error
from typing import Any, Final

from distributedlog.wire.apis import api_of
from distributedlog.wire.errors import EncodeError, ProtocolError, UnsupportedVersionError
from distributedlog.wire.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    has_flexible_response_header,
)
from distributedlog.wire.primitives import Buffer

#: Kafka's ``socket.request.max.bytes``.
FRAME_SIZE_MAX: Final = 100 * 1024 * 1024

_SIZE: Final = Struct(">i")
_SIZE_AND_RESPONSE_HEADER_0: Final = Struct(">ii")
_SIZE_AND_RESPONSE_HEADER_1: Final = Struct(">iix")


class FrameSplitter:
    """Cuts a byte stream into frames.

    What arrives whole is handed on as a memoryview of what was received, without a copy; a frame
    that arrives in parts is gathered in a buffer that grows with what has come, not with what its
    size prefix promises. After a ``ProtocolError`` the stream is lost: close the connection.
    """

    __slots__ = ("_frame_size_max", "_partial")

    def __init__(self, frame_size_max: int = FRAME_SIZE_MAX) -> None:
        self._frame_size_max = frame_size_max
        self._partial = bytearray()

    @property
    def missing(self) -> int:
        """How many bytes the frame in progress still wants; 4 when not even its size is known."""
        if len(self._partial) < _SIZE.size:
            return _SIZE.size - len(self._partial)
        return _SIZE.size + self._size_at(self._partial, 0) - len(self._partial)

    def feed(self, data: bytes) -> list[memoryview]:
        """Take what was received and return the frames, without size prefix, that are complete now."""
        frames: list[memoryview] = []
        view = memoryview(data)
        position = self._complete_partial(view, frames) if self._partial else 0
        remaining = len(view) - position
        while remaining >= _SIZE.size:
            size = self._size_at(view, position)
            if size > remaining - _SIZE.size:
                break
            start = position + _SIZE.size
            position = start + size
            frames.append(view[start:position])
            remaining = len(view) - position
        if remaining:
            self._partial += view[position:]
        return frames

    def _complete_partial(self, view: memoryview, frames: list[memoryview]) -> int:
        """Fill up the frame in progress; returns how much of ``view`` it took."""
        taken = 0
        while taken < len(view) and (missing := self.missing):
            chunk = view[taken : taken + missing]
            self._partial += chunk
            taken += len(chunk)
        if len(self._partial) >= _SIZE.size and not self.missing:
            frames.append(memoryview(self._partial)[_SIZE.size :])
            self._partial = bytearray()
        return taken

    def _size_at(self, buffer: Buffer, position: int) -> int:
        size: int = _SIZE.unpack_from(buffer, position)[0]
        if size < 0:
            raise ProtocolError(f"a frame has the negative size {size}")
        if size > self._frame_size_max:
            raise ProtocolError(f"a frame of {size} bytes is above the limit of {self._frame_size_max}")
        return size


def encode_request(
    api_key: int, version: int, correlation_id: int, client_id: str | None, message: Any
) -> bytes:
    """A whole request with its size prefix."""
    api = api_of(api_key, version)
    header = encode_request_header(api, version, correlation_id, client_id)
    body = api.request(version).encode(message)
    return b"".join((_encode_size(len(header) + len(body)), header, body))


def encode_request_pieces(
    api_key: int, version: int, correlation_id: int, client_id: str | None, message: Any
) -> list[Any]:
    """As `encode_request`, but record batches stay pieces of their own."""
    api = api_of(api_key, version)
    header = encode_request_header(api, version, correlation_id, client_id)
    pieces = api.request(version).encode_pieces(message)
    # The first piece is always the codec's own bytes: what stands before the first record batch.
    pieces[0] = b"".join((_encode_size(len(header) + sum(map(len, pieces))), header, pieces[0]))
    return pieces


def decode_request(frame: Buffer) -> tuple[RequestHeader, Any]:
    """The header and the message of a request frame (without its size prefix).

    An unknown API or version raises ``UnsupportedVersionError`` with the header in it. Bytes after
    the message are ignored, as Kafka ignores them.
    """
    header = decode_request_header(frame)
    if header.api is None:
        raise UnsupportedVersionError(header.api_key, header.api_version, header)
    message, _ = header.api.request(header.api_version).decode(frame, header.body_position)
    return header, message


def encode_response(api_key: int, version: int, correlation_id: int, message: Any) -> bytes:
    """A whole response with its size prefix."""
    api = api_of(api_key, version)
    body = api.response(version).encode(message)
    return _response_head(api_key, version, correlation_id, len(body)) + body


def encode_response_pieces(api_key: int, version: int, correlation_id: int, message: Any) -> list[Any]:
    """A whole response with its size prefix, record batches as pieces of their own.

    A piece is a buffer or, where the message holds one, a region of a file.
    """
    pieces = api_of(api_key, version).response(version).encode_pieces(message)
    head = _response_head(api_key, version, correlation_id, sum(map(len, pieces)))
    pieces[0] = head + pieces[0]
    return pieces


def decode_response(api_key: int, version: int, frame: Buffer) -> tuple[int, Any]:
    """The correlation id and the message of a response frame (without its size prefix)."""
    api = api_of(api_key, version)
    correlation_id, position = decode_response_header(api, version, frame)
    message, _ = api.response(version).decode(frame, position)
    return correlation_id, message


def _response_head(api_key: int, version: int, correlation_id: int, body_size: int) -> bytes:
    try:
        if has_flexible_response_header(api_of(api_key, version), version):
            return _SIZE_AND_RESPONSE_HEADER_1.pack(body_size + 5, correlation_id)
        return _SIZE_AND_RESPONSE_HEADER_0.pack(body_size + 4, correlation_id)
    except struct_error as error:
        raise EncodeError(f"no frame holds {body_size} bytes or correlation id {correlation_id}") from error


def _encode_size(size: int) -> bytes:
    try:
        return _SIZE.pack(size)
    except struct_error as error:
        raise EncodeError(f"no frame holds {size} bytes") from error
