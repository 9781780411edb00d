"""The codec of one message in one version, compiled when it is first used."""

from typing import Any

from distributedlog.wire.decoder import Decoder, compile_decoder
from distributedlog.wire.encoder import Encoder, PiecesEncoder, compile_encoder, compile_pieces_encoder
from distributedlog.wire.layout import Layout, layout_of


class Codec:
    """Three functions, each made when it is first asked for: a broker decodes requests and encodes
    responses, and never needs the other halves.

    ``decode(buffer, position=0)`` returns the message and the position after it; it raises
    ``ProtocolError`` and nothing else. Record batches come back as memoryviews of ``buffer``.

    ``encode(message)`` returns bytes; ``encode_pieces(message)`` a list of bytes and of the message's
    own record buffers or regions. Both raise ``EncodeError`` for values that cannot be encoded.
    """

    __slots__ = ("decode", "encode", "encode_pieces", "layout")

    decode: Decoder
    encode: Encoder
    encode_pieces: PiecesEncoder

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def __getattr__(self, name: str) -> Any:
        """Reached only while the slot is empty: compile what belongs there."""
        match name:
            case "decode":
                self.decode = compile_decoder(self.layout)
                return self.decode
            case "encode":
                self.encode = compile_encoder(self.layout)
                return self.encode
            case "encode_pieces":
                self.encode_pieces = compile_pieces_encoder(self.layout)
                return self.encode_pieces
        raise AttributeError(name)


_codecs: dict[tuple[type[Any], int, bool], Codec] = {}


def codec_of(message_class: type[Any], version: int, flexible: bool) -> Codec:
    """The codec of a message class in a version; the same one for the same question."""
    key = (message_class, version, flexible)
    codec = _codecs.get(key)
    if codec is None:
        codec = _codecs[key] = Codec(layout_of(message_class, version, flexible))
    return codec
