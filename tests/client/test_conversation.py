"""Requests and responses of one connection, without one."""

import pytest

from distributedlog.client.conversation import CORRELATION_ID_MAX, Conversation
from distributedlog.client.errors import UnexpectedResponse
from distributedlog.wire import APIS, decode_request, encode_response
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataResponse
from distributedlog.wire.k18_api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

METADATA = APIS[3]
API_VERSIONS = APIS[18]


def begin(conversation, api, version, request, waiter):
    data = b"".join(bytes(piece) for piece in conversation.begin(api, version, request, waiter))
    return decode_request(memoryview(data)[4:])


def test_responses_are_matched_with_their_requests_however_the_bytes_are_cut():
    conversation = Conversation("me")
    headers = [begin(conversation, METADATA, 12, MetadataRequest(), number)[0] for number in range(3)]
    assert [header.client_id for header in headers] == ["me"] * 3
    stream = b"".join(
        encode_response(3, 12, header.correlation_id, MetadataResponse(controller_id=number))
        for number, header in enumerate(headers)
    )
    answered = []
    for position in range(0, len(stream), 5):
        answered += conversation.receive(stream[position : position + 5])
    assert [(waiter, response.controller_id) for waiter, response in answered] == [(0, 0), (1, 1), (2, 2)]
    assert conversation.in_flight == 0


def test_requests_may_be_in_different_versions():
    conversation = Conversation("me")
    old, _ = begin(conversation, METADATA, 1, MetadataRequest(), "old")
    new, _ = begin(conversation, METADATA, 13, MetadataRequest(), "new")
    stream = encode_response(3, 1, old.correlation_id, MetadataResponse())
    stream += encode_response(3, 13, new.correlation_id, MetadataResponse(error_code=7))
    (first, _), (second, response) = conversation.receive(stream)
    assert (first, second, response.error_code) == ("old", "new", 7)


def test_an_unanswered_request_takes_a_correlation_id_but_waits_for_nothing():
    conversation = Conversation("me")
    conversation.begin_unanswered(METADATA, 12, MetadataRequest())
    header, _ = begin(conversation, METADATA, 12, MetadataRequest(), "x")
    assert header.correlation_id == 1
    assert conversation.in_flight == 1


def test_correlation_ids_start_again_before_they_overflow():
    conversation = Conversation("me")
    conversation._next_correlation_id = CORRELATION_ID_MAX
    assert begin(conversation, METADATA, 12, MetadataRequest(), 0)[0].correlation_id == CORRELATION_ID_MAX
    assert begin(conversation, METADATA, 12, MetadataRequest(), 1)[0].correlation_id == 0


def test_unsupported_version_of_api_versions_is_read_in_version_0():
    """Whatever version was asked for, that answer has the oldest body (KIP-511)."""
    conversation = Conversation("me")
    header, _ = begin(conversation, API_VERSIONS, 4, ApiVersionsRequest("a", "1"), "hello")
    answer = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(18, 0, 3)])
    ((waiter, response),) = conversation.receive(encode_response(18, 0, header.correlation_id, answer))
    assert (waiter, response.error_code) == ("hello", 35)
    assert response.api_keys == [ApiVersion(18, 0, 3)]


@pytest.mark.parametrize(
    "stream",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",  # a TLS alert
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x02\x00\x00",
        b"\x00\x00\x00\x04\x00\x00\x00\x07",  # another correlation id, and no body
    ],
)
def test_what_is_no_response_is_said_to_be_none(stream):
    conversation = Conversation("me")
    begin(conversation, METADATA, 12, MetadataRequest(), "x")
    with pytest.raises(UnexpectedResponse, match="is there a Kafka broker on this port"):
        list(conversation.receive(stream))


def test_a_response_to_another_request_ends_the_conversation():
    conversation = Conversation("me")
    begin(conversation, METADATA, 12, MetadataRequest(), "x")
    with pytest.raises(UnexpectedResponse, match="correlation id 5 in place of 0"):
        list(conversation.receive(encode_response(3, 12, 5, MetadataResponse())))


def test_a_response_that_nobody_asked_for_ends_the_conversation():
    with pytest.raises(UnexpectedResponse, match="nobody asked for"):
        list(Conversation("me").receive(encode_response(3, 12, 0, MetadataResponse())))


def test_a_response_beyond_the_limit_is_refused_before_it_is_gathered():
    conversation = Conversation("me", response_size_max=1000)
    begin(conversation, METADATA, 12, MetadataRequest(), "x")
    with pytest.raises(UnexpectedResponse, match="above the limit of 1000"):
        list(conversation.receive((1001).to_bytes(4)))


def test_what_is_sound_before_the_damage_is_answered():
    conversation = Conversation("me")
    for name in ("sound", "damaged"):
        begin(conversation, METADATA, 12, MetadataRequest(), name)
    stream = encode_response(3, 12, 0, MetadataResponse()) + encode_response(3, 12, 7, MetadataResponse())
    answered = []
    with pytest.raises(UnexpectedResponse):
        for waiter, _ in conversation.receive(stream):
            answered.append(waiter)
    assert answered == ["sound"]
    assert conversation.give_up() == ["damaged"]


def test_giving_up_names_all_who_wait():
    conversation = Conversation("me")
    for number in range(3):
        begin(conversation, METADATA, 12, MetadataRequest(), number)
    assert conversation.give_up() == [0, 1, 2]
    assert conversation.in_flight == 0
