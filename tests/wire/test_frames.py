"""Frames and headers: golden bytes, streams cut anywhere, and what a broker needs of a bad request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.wire import (
    APIS,
    EncodeError,
    FrameSplitter,
    ProtocolError,
    UnsupportedVersionError,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_request_pieces,
    encode_response,
    encode_response_pieces,
)
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k01_fetch import FetchableTopicResponse, FetchResponse, PartitionData
from distributedlog.wire.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from distributedlog.wire.k18_api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

API_VERSIONS, HEARTBEAT, PRODUCE, FETCH = 18, 12, 0, 1


def framed(body):
    return len(body).to_bytes(4) + body


@given(st.lists(st.binary(max_size=40), max_size=6), st.data())
def test_frames_come_out_whole_wherever_the_stream_is_cut(bodies, data):
    stream = b"".join(map(framed, bodies))
    splitter = FrameSplitter(frame_size_max=40)
    out = []
    position = 0
    while position < len(stream):
        size = data.draw(st.integers(1, len(stream) - position))
        out += splitter.feed(stream[position : position + size])
        position += size
    assert [bytes(frame) for frame in out] == bodies


def test_a_frame_received_whole_is_not_copied():
    received = framed(b"first") + framed(b"second") + b"\0\0"
    frames = FrameSplitter().feed(received)
    assert [bytes(frame) for frame in frames] == [b"first", b"second"]
    assert all(frame.obj is received for frame in frames)


def test_the_splitter_tells_how_much_it_is_waiting_for():
    splitter = FrameSplitter()
    assert splitter.missing == 4
    splitter.feed(b"\0\0")
    assert splitter.missing == 2
    splitter.feed(b"\0\x09abc")
    assert splitter.missing == 6


@pytest.mark.parametrize("split", [4, 3, 1])
def test_a_size_that_cannot_be_is_refused_before_anything_is_gathered(split):
    for size, reason in ((b"\xff\xff\xff\xff", "negative size -1"), (b"\0\0\0\x0b", "above the limit of 10")):
        splitter = FrameSplitter(frame_size_max=10)
        splitter.feed(size[:split]) if split < 4 else None
        with pytest.raises(ProtocolError, match=reason):
            splitter.feed(size[split % 4 :])


def test_a_request_is_laid_out_with_header_1_where_it_is_not_flexible():
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    frame = encode_request(HEARTBEAT, 0, 7, "me", request)
    assert frame == framed(bytes.fromhex("000c 0000 00000007 0002 6d65 0001 67 00000001 0001 6d"))
    header, message = decode_request(frame[4:])
    assert (header.api_key, header.api_version, header.correlation_id) == (HEARTBEAT, 0, 7)
    assert (header.client_id, header.api) == ("me", APIS[HEARTBEAT])
    assert message == request


def test_a_flexible_request_keeps_the_old_form_of_the_client_id():
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    frame = encode_request(HEARTBEAT, 4, 7, None, request)
    assert frame == framed(bytes.fromhex("000c 0004 00000007 ffff 00 02 67 00000001 02 6d 00 00"))
    header, message = decode_request(frame[4:])
    assert header.client_id is None
    assert message == request


def test_tagged_fields_of_a_header_are_skipped():
    frame = bytes.fromhex("000c 0004 00000007 ffff 01 05 02 abcd 02 67 00000001 02 6d 00 00")
    assert decode_request(frame)[1] == HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


@pytest.mark.parametrize(
    ("version", "expected"),
    [(3, "00000007 00000000 0000"), (4, "00000007 00 00000000 0000 00")],
)
def test_a_response_header_has_tags_where_its_version_is_flexible(version, expected):
    frame = encode_response(HEARTBEAT, version, 7, HeartbeatResponse())
    assert frame == framed(bytes.fromhex(expected))
    assert decode_response(HEARTBEAT, version, frame[4:]) == (7, HeartbeatResponse())


@pytest.mark.parametrize("version", range(5))
def test_the_api_versions_response_has_header_0_in_every_version(version):
    response = ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 4)])
    frame = encode_response(API_VERSIONS, version, 7, response)
    assert frame[4:10] == bytes.fromhex("00000007 0000")
    assert decode_response(API_VERSIONS, version, frame[4:]) == (7, response)


def test_an_api_versions_request_of_a_future_version_can_be_answered():
    frame = bytes.fromhex("0012 0063 00000007") + b"whatever version 99 looks like"
    header = decode_request_header(frame)
    assert (header.api_key, header.api_version, header.correlation_id) == (API_VERSIONS, 99, 7)
    assert header.api is None
    with pytest.raises(UnsupportedVersionError, match="API key 18 in version 99") as caught:
        decode_request(frame)
    assert caught.value.header == header


@pytest.mark.parametrize("key_and_version", ["0012 ffff", "00ff 0000", "ffff 0000", "0000 0002"])
def test_a_request_that_is_not_served_tells_its_correlation_id_all_the_same(key_and_version):
    header = decode_request_header(bytes.fromhex(key_and_version + "00000007"))
    assert header.api is None
    assert header.correlation_id == 7


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ("", "too short for its header"),
        ("000c 0004 000000", "too short for its header"),
        ("000c 0004 00000007", "goes on after"),
        ("000c 0004 00000007 fffe", "client id has length -2"),
        ("000c 0004 00000007 0003 6d65", "client id has length 3"),
        ("000c 0004 00000007 0001 ff 00", "not UTF-8"),
        ("000c 0004 00000007 ffff", "goes on after"),
        ("000c 0004 00000007 ffff 01", "goes on after"),
        ("000c 0004 00000007 ffff 01 00 05", "tagged field 0 claims 5 bytes"),
    ],
)
def test_a_damaged_request_header_is_refused_with_the_reason(frame, reason):
    with pytest.raises(ProtocolError, match=reason):
        decode_request(bytes.fromhex(frame))


def test_a_damaged_response_header_is_refused_with_the_reason():
    with pytest.raises(ProtocolError, match="too short for its header"):
        decode_response(HEARTBEAT, 4, b"\0\0\0")
    with pytest.raises(ProtocolError, match="goes on after"):
        decode_response(HEARTBEAT, 4, b"\0\0\0\7")


def test_bytes_after_a_request_are_ignored_as_kafka_ignores_them():
    frame = encode_request(API_VERSIONS, 0, 1, "x", ApiVersionsRequest())[4:]
    assert decode_request(frame + b"padding")[1] == ApiVersionsRequest()


class FileRegion:
    def __len__(self):
        return 5000


def test_the_size_prefix_counts_regions():
    region = FileRegion()
    response = FetchResponse(
        responses=[FetchableTopicResponse(topic="t", partitions=[PartitionData(records=region)])]
    )
    pieces = encode_response_pieces(FETCH, 12, 7, response)
    assert [piece for piece in pieces if piece is region] == [region]
    assert int.from_bytes(pieces[0][:4]) == sum(map(len, pieces)) - 4
    joined = b"".join(bytes(5000) if piece is region else piece for piece in pieces)
    correlation_id, decoded = decode_response(FETCH, 12, joined[4:])
    assert correlation_id == 7
    assert bytes(decoded.responses[0].partitions[0].records) == bytes(5000)


def test_the_pieces_of_a_request_join_to_the_request():
    request = ProduceRequest(
        topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, b"records")])]
    )
    pieces = encode_request_pieces(PRODUCE, 9, 7, "me", request)
    assert pieces[1] == b"records"
    assert b"".join(pieces) == encode_request(PRODUCE, 9, 7, "me", request)


def test_a_response_without_records_is_one_piece():
    pieces = encode_response_pieces(HEARTBEAT, 4, 7, HeartbeatResponse())
    assert pieces == [encode_response(HEARTBEAT, 4, 7, HeartbeatResponse())]


def test_what_no_frame_can_hold_is_an_encode_error():
    with pytest.raises(EncodeError, match="correlation id"):
        encode_response(HEARTBEAT, 4, 2**31, HeartbeatResponse())
    with pytest.raises(EncodeError, match="correlation id"):
        encode_request(HEARTBEAT, 4, 2**31, "me", HeartbeatRequest())
    for client_id in ("x" * 32768, "\udc80"):
        with pytest.raises(EncodeError, match="client id"):
            encode_request(HEARTBEAT, 4, 1, client_id, HeartbeatRequest())
    with pytest.raises(UnsupportedVersionError):
        encode_request(HEARTBEAT, 99, 1, "me", HeartbeatRequest())
