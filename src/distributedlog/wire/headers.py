"""The headers that stand before each request and each response.

Request header 1 is the fixed part and the client's name; header 2 adds a tag section, but keeps the
name's old form with a two-byte length. Response header 0 is the correlation id alone; header 1 adds a
tag section. Which one it is follows from whether the API's version is flexible, except that the
response to ApiVersions has header 0 always.
"""

from struct import Struct
from struct import error as struct_error
from typing import Final, NamedTuple

from distributedlog.wire.apis import APIS, Api
from distributedlog.wire.errors import EncodeError, ProtocolError
from distributedlog.wire.primitives import Buffer, skip_tags

API_VERSIONS: Final = 18

_FIXED: Final = Struct(">hhi")
_FIXED_AND_CLIENT_LENGTH: Final = Struct(">hhih")
_CORRELATION_ID: Final = Struct(">i")


class RequestHeader(NamedTuple):
    """A request's header, and where in the frame the body begins.

    ``api`` is None when the key or the version is unknown. Then nothing but the fixed part was read,
    since no one can say what follows it.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_position: int
    api: Api | None


def decode_request_header(frame: Buffer) -> RequestHeader:
    """Read the header of a request frame (without its size prefix).

    An unknown API or version is no error here: the broker must see an ApiVersions request of any
    version to answer it.
    """
    try:
        api_key, version, correlation_id, length = _FIXED_AND_CLIENT_LENGTH.unpack_from(frame, 0)
    except struct_error:
        api_key, version, correlation_id = _decode_fixed(frame)
        length = None
    api = APIS.get(api_key)
    if api is None or not api.first <= version <= api.last:
        return RequestHeader(api_key, version, correlation_id, None, _FIXED.size, None)
    if length is None:
        raise ProtocolError(f"a request header goes on after the {len(frame)} bytes that are there")
    position = 10
    client_id = None
    if length != -1:
        end = position + length
        if not position <= end <= len(frame):
            raise ProtocolError(f"the client id has length {length} in a frame of {len(frame)} bytes")
        try:
            client_id = str(frame[position:end], "utf-8")
        except UnicodeDecodeError as error:
            raise ProtocolError(f"the client id is not UTF-8: {error}") from None
        position = end
    if api.is_flexible(version):
        position = _skip_tag_section(frame, position)
    return RequestHeader(api_key, version, correlation_id, client_id, position, api)


def _decode_fixed(frame: Buffer) -> tuple[int, int, int]:
    if len(frame) < _FIXED.size:
        raise ProtocolError(f"a request of {len(frame)} bytes is too short for its header")
    api_key, version, correlation_id = _FIXED.unpack_from(frame, 0)
    return api_key, version, correlation_id


def _skip_tag_section(frame: Buffer, position: int) -> int:
    try:
        count = frame[position]
        position += 1
        return skip_tags(frame, position, count) if count else position
    except IndexError:
        raise ProtocolError(f"a header goes on after the {len(frame)} bytes that are there") from None


def encode_request_header(api: Api, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """The header of a request."""
    try:
        name = b"" if client_id is None else client_id.encode()
        length = -1 if client_id is None else len(name)
        fixed = _FIXED_AND_CLIENT_LENGTH.pack(api.key, version, correlation_id, length)
    except (struct_error, UnicodeEncodeError) as error:
        raise EncodeError(
            f"no header holds correlation id {correlation_id} and a client id of these characters: {error}"
        ) from error
    return fixed + name + (b"\0" if api.is_flexible(version) else b"")


def decode_response_header(api: Api, version: int, frame: Buffer) -> tuple[int, int]:
    """The correlation id of a response frame, and where its body begins."""
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame, 0)
    except struct_error:
        raise ProtocolError(f"a response of {len(frame)} bytes is too short for its header") from None
    if has_flexible_response_header(api, version):
        return correlation_id, _skip_tag_section(frame, _CORRELATION_ID.size)
    return correlation_id, _CORRELATION_ID.size


def has_flexible_response_header(api: Api, version: int) -> bool:
    """Whether responses of this version have header 1."""
    return api.is_flexible(version) and api.key != API_VERSIONS
