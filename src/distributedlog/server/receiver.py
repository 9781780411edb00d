"""From what a socket received to whole request frames, each in a buffer of its own.

A connection that is between two frames receives into a buffer that all connections of the loop share
(the loop fills it and hands it on in the same step); what is whole there is copied out once. A frame
that is larger than what has come gets a buffer that the socket fills directly. That buffer grows with
what has come, not with what the size prefix promises.
"""

from struct import Struct
from typing import Final

from distributedlog.server.first_bytes import describe

SHARED_BUFFER_SIZE: Final = 256 * 1024
#: The least that is set aside for a frame that has begun, and how much faster than its bytes it may grow.
FRAME_BUFFER_SIZE_FIRST: Final = 64 * 1024
FRAME_BUFFER_GROWTH: Final = 4
#: The first request introduces the client. Only a Produce, from clients that do not, is larger than this.
FIRST_REQUEST_SIZE_MAX: Final = 1024 * 1024

#: API key, version, correlation id: what every request begins with.
REQUEST_SIZE_MIN: Final = 8

_SIZE: Final = Struct(">i")
_SIZE_AND_HEADER: Final = Struct(">ihh")
_PRODUCE: Final = 0
_NOTHING: Final = memoryview(b"")


class RefusedBytes(Exception):
    """What came is no request. The text says what it looks like; the connection must be closed."""


class Receiver:
    """One connection's incoming bytes. Sans-IO: `buffer` is filled by someone, who then says `received`.

    After `received`, take frames with `next_frame` until it gives None or there is no wish for more; then
    `keep` what remains, because the shared buffer will be overwritten.
    """

    __slots__ = (
        "_frame",
        "_frame_received",
        "_frame_size",
        "_is_first",
        "_known_keys",
        "_pending",
        "_pending_is_shared",
        "_position",
        "_shared",
        "frame_size_max",
    )

    def __init__(self, shared: memoryview, frame_size_max: int, known_keys: frozenset[int]) -> None:
        self._shared = shared
        self.frame_size_max = frame_size_max
        self._known_keys = known_keys
        #: What was received and not yet cut into frames: a part of the shared buffer, or kept bytes.
        self._pending = _NOTHING
        self._pending_is_shared = False
        self._position = 0
        #: The frame in progress, when it is larger than what had come; its size without the prefix.
        self._frame: bytearray | None = None
        self._frame_received = 0
        self._frame_size = 0
        self._is_first = True

    @property
    def has_part_of_a_frame(self) -> bool:
        """The client is in the middle of something."""
        return self._frame is not None or self._position < len(self._pending)

    @property
    def progress(self) -> str:
        """How much of the frame in progress has come, for the log."""
        if self._frame is not None:
            return f"{self._frame_received} of a request's {self._frame_size} bytes"
        return f"{len(self._pending) - self._position} bytes of a request"

    @property
    def own_frame_size(self) -> int:
        """The size of a frame that comes in parts, or 0."""
        return 0 if self._frame is None else self._frame_size

    def buffer(self) -> memoryview:
        """Where the next bytes go."""
        frame = self._frame
        if frame is None:
            return self._shared
        if self._frame_received == len(frame):
            grown = bytearray(min(FRAME_BUFFER_GROWTH * len(frame), self._frame_size))
            grown[: len(frame)] = frame
            self._frame = frame = grown
        return memoryview(frame)[self._frame_received :]

    def received(self, count: int) -> None:
        """So many bytes are in the buffer now."""
        if self._frame is not None:
            self._frame_received += count
            return
        fresh = self._shared[:count]
        if self._position < len(self._pending):
            fresh = memoryview(b"".join((self._pending[self._position :], fresh)))
            self._pending_is_shared = False
        else:
            self._pending_is_shared = True
        self._pending = fresh
        self._position = 0

    def next_frame(self) -> bytearray | None:
        """The next whole frame without its size prefix, in memory of its own; None when none is whole.

        Raises `RefusedBytes` for a size that cannot be, and for a first request that is none.
        """
        if self._frame is not None:
            return self._take_own_frame()
        position = self._position
        available = len(self._pending) - position
        if available < _SIZE.size:
            return None
        (size,) = _SIZE.unpack_from(self._pending, position)
        if self._is_first:
            if available < _SIZE_AND_HEADER.size and REQUEST_SIZE_MIN <= size <= self.frame_size_max:
                return None
            self._check_first(size, position)
        if not REQUEST_SIZE_MIN <= size <= self.frame_size_max:
            raise RefusedBytes(f"after its first requests it sent what is none; {self._size_refusal(size)}")
        start = position + _SIZE.size
        if size > available - _SIZE.size:
            self._begin_own_frame(size, start)
            return None
        self._is_first = False
        self._position = start + size
        return bytearray(self._pending[start : start + size])

    def keep(self) -> None:
        """Copy what was not taken out of the shared buffer, before it is filled for someone else."""
        if self._position >= len(self._pending):
            self._pending = _NOTHING
            self._position = 0
        elif self._pending_is_shared:
            self._pending = memoryview(bytes(self._pending[self._position :]))
            self._position = 0
            self._pending_is_shared = False

    def _begin_own_frame(self, size: int, start: int) -> None:
        have = self._pending[start:]
        frame = bytearray(min(size, max(FRAME_BUFFER_SIZE_FIRST, FRAME_BUFFER_GROWTH * len(have))))
        frame[: len(have)] = have
        self._frame, self._frame_received, self._frame_size = frame, len(have), size
        self._position = len(self._pending)

    def _take_own_frame(self) -> bytearray | None:
        if self._frame_received < self._frame_size:
            return None
        frame, self._frame = self._frame, None
        self._is_first = False
        return frame

    def _check_first(self, size: int, position: int) -> None:
        """Find out what is no Kafka client before memory is spent on it."""
        first = bytes(self._pending[position : position + 64])
        if not REQUEST_SIZE_MIN <= size <= self.frame_size_max:
            raise RefusedBytes(f"it sent {describe(first)}; {self._size_refusal(size)}")
        _, api_key, _ = _SIZE_AND_HEADER.unpack_from(self._pending, position)
        if api_key not in self._known_keys:
            raise RefusedBytes(f"it sent {describe(first)}; there is no request with API key {api_key}")
        if size > FIRST_REQUEST_SIZE_MAX and api_key != _PRODUCE:
            raise RefusedBytes(
                f"its first request, with API key {api_key}, would have {size} bytes, "
                f"and {FIRST_REQUEST_SIZE_MAX} are allowed"
            )

    def _size_refusal(self, size: int) -> str:
        if size < REQUEST_SIZE_MIN:
            return f"a request cannot have the size {size}"
        return f"as a request that is {size} bytes, above socket.request.max.bytes = {self.frame_size_max}"
