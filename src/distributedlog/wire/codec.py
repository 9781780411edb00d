"""The codec of one message in one version, compiled when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributedlog.wire.decoder import Decoder
    from distributedlog.wire.encoder import Encoder, PiecesEncoder
    from distributedlog.wire.layout import Layout


class Codec:
    """Three functions, each made when it is first asked for: a broker decodes requests and encodes
    responses, and never needs the other halves.

    ``decode(buffer, position=0)`` returns the message and the position after it; it raises
    ``ProtocolError`` and nothing else. Record batches come back as memoryviews of ``buffer``.

    ``encode(message)`` returns bytes; ``encode_pieces(message)`` a list of bytes and of the message's
    own record buffers or regions. Both raise ``EncodeError`` for values that cannot be encoded.

    The compiler itself is imported here and not above, for the same reason: who only names an API
    does not pay for it.
    """

    __slots__ = ("decode", "encode", "encode_pieces", "flexible", "layout", "message_class", "version")

    layout: Layout
    decode: Decoder
    encode: Encoder
    encode_pieces: PiecesEncoder

    def __init__(self, message_class: type[Any], version: int, flexible: bool) -> None:
        self.message_class = message_class
        self.version = version
        self.flexible = flexible

    def __getattr__(self, name: str) -> Any:
        """Reached only while the slot is empty: make what belongs there."""
        made: Any
        match name:
            case "layout":
                from distributedlog.wire.layout import layout_of  # noqa: PLC0415

                made = layout_of(self.message_class, self.version, self.flexible)
            case "decode":
                from distributedlog.wire.decoder import compile_decoder  # noqa: PLC0415

                made = compile_decoder(self.layout)
            case "encode":
                from distributedlog.wire.encoder import compile_encoder  # noqa: PLC0415

                made = compile_encoder(self.layout)
            case "encode_pieces":
                from distributedlog.wire.encoder import compile_pieces_encoder  # noqa: PLC0415

                made = compile_pieces_encoder(self.layout)
            case _:
                raise AttributeError(name)
        setattr(self, name, made)
        return made


_codecs: dict[tuple[type[Any], int, bool], Codec] = {}


def codec_of(message_class: type[Any], version: int, flexible: bool) -> Codec:
    """The codec of a message class in a version; the same one for the same question."""
    key = (message_class, version, flexible)
    codec = _codecs.get(key)
    if codec is None:
        codec = _codecs[key] = Codec(message_class, version, flexible)
    return codec
