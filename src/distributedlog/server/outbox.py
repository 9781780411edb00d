"""What a connection still has to send: buffers and regions of log files, in order.

A region is read and written piece by piece as the client takes it, so a slow client costs one piece of
memory and not the whole response (docs/adr/0010).
"""

import os
from asyncio import Transport
from collections import deque
from typing import Any, Final

#: Above this the transport says stop; it goes on when this much or less is left.
WRITE_BUFFER_HIGH: Final = 256 * 1024
WRITE_BUFFER_LOW: Final = 64 * 1024
#: So much of a file is read at once.
REGION_PIECE_SIZE: Final = 256 * 1024


class RegionGone(Exception):
    """The file ended before the region did: what was promised to the client cannot be sent."""


class Outbox:
    """Writes to the transport while it takes, keeps the rest. `is_blocked` says: make no more responses."""

    __slots__ = ("_is_paused", "_rest", "_transport")

    def __init__(self, transport: Transport) -> None:
        transport.set_write_buffer_limits(WRITE_BUFFER_HIGH, WRITE_BUFFER_LOW)
        self._transport = transport
        self._rest: deque[Any] = deque()
        self._is_paused = False

    @property
    def is_blocked(self) -> bool:
        return self._is_paused or bool(self._rest)

    @property
    def has_unread_pieces(self) -> bool:
        """The transport does not have everything yet."""
        return bool(self._rest)

    def send(self, data: bytes) -> None:
        """Send one whole response."""
        if self._is_paused or self._rest:
            self._rest.append(data)
        else:
            self._transport.write(data)

    def send_pieces(self, pieces: list[Any]) -> None:
        """Send a response of buffers and file regions."""
        self._rest.extend(pieces)
        self._pump()

    def pause(self) -> None:
        """The transport has enough."""
        self._is_paused = True

    def resume(self) -> None:
        """The transport takes more."""
        self._is_paused = False
        self._pump()

    def clear(self) -> None:
        """Let go of everything, files too."""
        self._rest.clear()

    def _pump(self) -> None:
        rest = self._rest
        ready: list[Any] = []
        ready_size = 0
        while rest and not self._is_paused:
            piece = rest.popleft()
            if not isinstance(piece, (bytes, bytearray, memoryview)):
                piece = self._read(piece)
            ready.append(piece)
            ready_size += len(piece)
            if ready_size >= REGION_PIECE_SIZE:
                self._transport.writelines(ready)
                ready, ready_size = [], 0
        if ready:
            self._transport.writelines(ready)

    def _read(self, region: Any) -> bytes:
        """The beginning of a region; what is beyond a piece goes back to the front."""
        size = min(region.size, REGION_PIECE_SIZE)
        data = os.pread(region.file.fd, size, region.position)
        if len(data) < size:
            raise RegionGone(f"{region!r} ends after {len(data)} of {size} bytes")
        if size < region.size:
            self._rest.appendleft(type(region)(region.file, region.position + size, region.size - size))
        return data
