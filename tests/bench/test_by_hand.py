"""The ceilings of the codec do what the codec does: the same messages, the same bytes."""

import pytest

from bench import by_hand, wire
from distributedlog.wire import APIS, decode_request, encode_response, encode_response_pieces


@pytest.mark.parametrize("version", [9, 10, 11, 12])
def test_produce_requests(version):
    body = wire.encode_body(wire.PRODUCE, version, wire.produce_request())
    assert by_hand.produce_request(body) == APIS[wire.PRODUCE].request(version).decode(body)[0]
    frame = wire.produce_request_frame(version)
    assert by_hand.produce_request_frame(frame) == decode_request(frame)


@pytest.mark.parametrize("version", [9, 12])
def test_produce_responses(version):
    answer = wire.produce_response()
    assert by_hand.produce_response_frame(7, answer) == encode_response(wire.PRODUCE, version, 7, answer)


def test_metadata_responses():
    metadata = wire.metadata_response()
    assert by_hand.metadata_response(metadata) == APIS[wire.METADATA].response(12).encode(metadata)


@pytest.mark.parametrize("version", [12, 17])
def test_fetches(version):
    decode_by_hand, encode_by_hand = wire.FETCH_BY_HAND[version]
    frame = wire.fetch_request_frame(version)
    assert decode_by_hand(frame) == decode_request(frame)
    fetched = wire.fetch_response()
    assert encode_by_hand(7, fetched) == encode_response_pieces(wire.FETCH, version, 7, fetched)
