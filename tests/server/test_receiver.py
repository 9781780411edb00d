"""Frames out of a byte stream that may be cut anywhere, in memory that grows with what has come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.server.receiver import (
    FIRST_REQUEST_SIZE_MAX,
    FRAME_BUFFER_SIZE_FIRST,
    Receiver,
    RefusedBytes,
)

KNOWN = frozenset({0, 18})


def receiver(shared_size=64, frame_size_max=10_000_000):
    return Receiver(memoryview(bytearray(shared_size)), frame_size_max, KNOWN)


def feed(receiver, data, take=lambda: True):
    """As a loop does: fill the buffer, take what is whole, keep the rest."""
    frames = []
    while data:
        buffer = receiver.buffer()
        count = min(len(buffer), len(data))
        buffer[:count] = data[:count]
        data = data[count:]
        receiver.received(count)
        while take() and (frame := receiver.next_frame()) is not None:
            frames.append(frame)
        receiver.keep()
        receiver.buffer()[:] = b"\xee" * len(receiver.buffer())  # another connection's bytes, or garbage
    return frames


def request(size, api_key=18):
    return api_key.to_bytes(2) + bytes(n % 256 for n in range(size - 2))


def framed(bodies):
    return b"".join(len(body).to_bytes(4) + body for body in bodies)


@given(st.lists(st.integers(8, 300), min_size=1, max_size=8), st.data(), st.integers(16, 200))
def test_frames_come_out_whole_wherever_the_stream_is_cut(sizes, data, shared_size):
    bodies = [request(size) for size in sizes]
    stream = framed(bodies)
    subject = receiver(shared_size)
    frames = []
    position = 0
    while position < len(stream):
        size = data.draw(st.integers(1, len(stream) - position))
        frames += feed(subject, stream[position : position + size])
        position += size
    assert frames == bodies
    assert not subject.has_part_of_a_frame


@given(st.lists(st.integers(8, 100), min_size=1, max_size=12), st.integers(1, 5))
def test_frames_that_nobody_takes_yet_are_kept(sizes, taken_at_a_time):
    bodies = [request(size) for size in sizes]
    subject = receiver(2000)
    assert feed(subject, framed(bodies), take=lambda: False) == []
    frames = []
    while len(frames) < len(bodies):
        for _ in range(taken_at_a_time):
            frame = subject.next_frame()
            if frame is not None:
                frames.append(frame)
        subject.keep()
        subject.buffer()[:] = b"\xee" * len(subject.buffer())
    assert frames == bodies


def test_every_frame_has_memory_of_its_own_that_may_be_written():
    first, second = feed(receiver(200), framed([request(20), request(20)]))
    first[:] = bytes(20)
    assert second == request(20)


def test_a_large_frame_is_received_straight_into_its_buffer():
    subject = receiver(64)
    size = 1_000_000
    feed(subject, framed([request(size, api_key=0)])[:64])
    assert subject.own_frame_size == size
    assert len(subject.buffer()) == FRAME_BUFFER_SIZE_FIRST - 60


def test_a_promised_size_is_not_believed_before_the_bytes_come():
    subject = receiver(64)
    feed(subject, (10_000_000).to_bytes(4) + request(60, api_key=0))
    held = 60
    while held < 10_000_000:
        room = len(subject.buffer())
        assert room + held <= max(4 * held, FRAME_BUFFER_SIZE_FIRST)
        subject.received(room)
        held += room
    frame = subject.next_frame()
    assert len(frame) == 10_000_000
    assert frame[:60] == request(60, api_key=0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET /metrics HTTP/1.1\r\n", "an HTTP request"),
        (bytes.fromhex("16030100c8010000c4"), "a TLS hello"),
        ((-5).to_bytes(4, signed=True), "size -5"),
        ((7).to_bytes(4), "size 7"),
        ((20_000_000).to_bytes(4), "above socket.request.max.bytes = 10000000"),
        (framed([request(20, api_key=5)]), "no request with API key 5"),
        ((FIRST_REQUEST_SIZE_MAX + 1).to_bytes(4) + request(9), "its first request, with API key 18"),
    ],
)
def test_what_is_no_first_request_is_refused(data, reason):
    with pytest.raises(RefusedBytes, match=reason):
        feed(receiver(), data)


def test_a_first_request_may_be_a_large_produce():
    assert len(feed(receiver(), framed([request(3_000_000, api_key=0)]))) == 1


@pytest.mark.parametrize("size", [-1, 0, 7, 10_000_001])
def test_a_later_size_that_cannot_be_is_refused(size):
    subject = receiver()
    feed(subject, framed([request(20)]))
    with pytest.raises(RefusedBytes, match=str(size)):
        feed(subject, size.to_bytes(4, signed=True))


def test_it_tells_how_far_a_request_has_come():
    subject = receiver()
    feed(subject, framed([request(20)])[:6])
    assert subject.has_part_of_a_frame
    assert subject.progress == "6 bytes of a request"
    feed(subject, framed([request(20)])[6:15])
    assert subject.progress == "11 of a request's 20 bytes"
