"""Whatever arrives: a message or a ProtocolError, nothing else, with memory bounded by the frame."""

import contextlib
import random
import tracemalloc

import pytest
from tests.wire.random_messages import crowded_messages, damaged, random_message, smallest_message

from distributedlog.wire import (
    APIS,
    FrameSplitter,
    ProtocolError,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)

pytestmark = pytest.mark.fuzz

CODEC_COUNT = sum(2 * len(api.versions) for api in APIS.values())
EVERY_DIRECTION = [
    pytest.param(api, direction, id=f"{api.name}-{direction}")
    for api in APIS.values()
    for direction in ("request", "response")
]
# The worst is an array whose elements are two bytes on the wire, and an object with a list in memory.
MEMORY_PER_BYTE_MAX = 80
MEMORY_BASE = 64 * 1024


def seeded(*parts):
    return random.Random("-".join(map(str, parts)))


def decode_or_refuse(codec, data):
    """Decode; what is accepted must be a message that can be encoded, and comes back as it is."""
    try:
        message, end = codec.decode(data)
    except ProtocolError:
        return False
    assert 0 <= end <= len(data)
    encoded = codec.encode(message)
    again, _ = codec.decode(encoded)
    assert codec.encode(again) == encoded
    return True


@pytest.mark.parametrize(("api", "direction"), EVERY_DIRECTION)
def test_damaged_messages_are_decoded_or_refused(fuzz_cases, api, direction):
    generator = seeded("damaged", api.key, direction)
    cases = max(20, fuzz_cases(105_000) // CODEC_COUNT)
    accepted = 0
    for version in api.versions:
        codec = getattr(api, direction)(version)
        samples = [codec.encode(random_message(generator, codec.layout)) for _ in range(8)]
        for _ in range(cases):
            data = damaged(generator, generator.choice(samples), generator.choice(samples))
            accepted += decode_or_refuse(codec, data)
    assert accepted, "every mutated message was refused: the mutations reach nothing behind the first check"


@pytest.mark.parametrize(("api", "direction"), EVERY_DIRECTION)
def test_every_truncation_is_refused(api, direction):
    generator = seeded("truncated", api.key, direction)
    for version in api.versions:
        codec = getattr(api, direction)(version)
        data = codec.encode(random_message(generator, codec.layout))
        for end in range(len(data)) if len(data) < 60 else generator.sample(range(len(data)), 60):
            with pytest.raises(ProtocolError):
                codec.decode(data[:end])


def peak_memory(codec, data):
    tracemalloc.start()
    try:
        codec.decode(data)
    except ProtocolError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize(("api", "direction"), EVERY_DIRECTION)
def test_memory_is_bounded_by_the_frame_where_arrays_are_crowded(api, direction):
    for version in {api.first, api.last}:
        codec = getattr(api, direction)(version)
        codec.decode(codec.encode(smallest_message(codec.layout)))  # compiled before memory is counted
        for message in crowded_messages(codec.layout, 2_000):
            data = codec.encode(message)
            assert peak_memory(codec, data) <= MEMORY_BASE + MEMORY_PER_BYTE_MAX * len(data)


@pytest.mark.parametrize(("api", "direction"), EVERY_DIRECTION)
def test_memory_is_bounded_by_the_frame_where_lengths_lie(api, direction):
    generator = seeded("memory", api.key, direction)
    codec = getattr(api, direction)(api.last)
    honest = codec.encode(random_message(generator, codec.layout))
    codec.decode(honest)  # compiled before memory is counted
    for at in range(min(len(honest), 16)):
        for lie in (b"\x7f\xff\xff\xff", b"\x00\x00\x20\x00", b"\xa0\x9c\x01", b"\xff\xff\xff\xff\x07"):
            data = honest[:at] + lie + b"\1" * 8_000
            assert peak_memory(codec, data) <= MEMORY_BASE + MEMORY_PER_BYTE_MAX * len(data)


@pytest.mark.parametrize("api", [pytest.param(api, id=api.name) for api in APIS.values()])
def test_damaged_frames_are_decoded_or_refused(fuzz_cases, api):
    generator = seeded("frames", api.key)
    cases = max(20, fuzz_cases(105_000) // 16 // len(APIS))
    for _ in range(cases):
        version = generator.choice(api.versions)
        request = random_message(generator, api.request(version).layout)
        response = random_message(generator, api.response(version).layout)
        asked = encode_request(api.key, version, 7, generator.choice((None, "", "client")), request)[4:]
        answered = encode_response(api.key, version, 7, response)[4:]
        with contextlib.suppress(ProtocolError):
            decode_request(damaged(generator, asked, answered))
        with contextlib.suppress(ProtocolError):
            decode_response(api.key, version, damaged(generator, answered, asked))


def test_a_damaged_stream_is_cut_into_frames_or_refused(fuzz_cases):
    generator = seeded("stream")
    for _ in range(max(20, fuzz_cases(105_000) // 80)):
        sizes = [generator.randrange(0, 50) for _ in range(4)]
        stream = b"".join(size.to_bytes(4) + generator.randbytes(size) for size in sizes)
        stream = damaged(generator, stream, stream)
        splitter = FrameSplitter(frame_size_max=1_000)
        taken = 0
        try:
            while taken < len(stream):
                chunk = stream[taken : taken + generator.randrange(1, 40)]
                taken += len(chunk)
                frames = splitter.feed(chunk)
                assert all(len(frame) <= 1_000 for frame in frames)
        except ProtocolError:
            pass
