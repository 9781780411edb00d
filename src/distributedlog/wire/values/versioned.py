"""Values that carry their own version: two bytes, big-endian, before the message."""

from typing import Any

from distributedlog.wire.codec import Codec, codec_of
from distributedlog.wire.errors import EncodeError, ProtocolError
from distributedlog.wire.primitives import Buffer

PREFIX_SIZE = 2


class Versioned:
    """A message class with the versions that its prefix may name."""

    __slots__ = ("first", "flexible_from", "last", "message_class")

    def __init__(self, message_class: type[Any], last: int, flexible_from: int | None) -> None:
        self.message_class = message_class
        self.first = 0
        self.last = last
        self.flexible_from = flexible_from

    def codec(self, version: int) -> Codec:
        """The codec of one version."""
        flexible = self.flexible_from is not None and version >= self.flexible_from
        return codec_of(self.message_class, version, flexible)

    def encode(self, message: Any, version: int) -> bytes:
        """The message with its prefix."""
        if not self.first <= version <= self.last:
            name = self.message_class.__name__
            raise EncodeError(f"{name} has the versions {self.first} to {self.last}, but not {version}")
        return version.to_bytes(PREFIX_SIZE) + self.codec(version).encode(message)

    def decode(self, data: Buffer) -> Any:
        """The message behind a prefix that names a known version. Bytes after it are ignored."""
        version = read_prefix(data)
        if not self.first <= version <= self.last:
            raise ProtocolError(f"{self.message_class.__name__} of version {version} cannot be read")
        return self.codec(version).decode(data, PREFIX_SIZE)[0]

    def decode_newer_as_last(self, data: Buffer) -> Any:
        """As `decode`, but a version newer than the last one is read as the last one.

        This is for formats that only ever grow at their end.
        """
        version = read_prefix(data)
        if version < self.first:
            raise ProtocolError(f"{self.message_class.__name__} of version {version} cannot be read")
        return self.codec(min(version, self.last)).decode(data, PREFIX_SIZE)[0]


def read_prefix(data: Buffer) -> int:
    """The two bytes at the start of a versioned value, as a signed number."""
    if len(data) < PREFIX_SIZE:
        raise ProtocolError(f"a value of {len(data)} bytes is too short for its version")
    return int.from_bytes(data[:PREFIX_SIZE], signed=True)
