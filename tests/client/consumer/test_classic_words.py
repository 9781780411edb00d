"""What classic members write about themselves, and read of each other."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.client.consumer.classic_words import (
    assignment_bytes,
    read_assignment,
    subscriber_of,
    subscription_bytes,
)
from distributedlog.client.errors import UnexpectedResponse
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire.k11_join_group import JoinGroupResponseMember

PLACES = [TopicPartition("t", 0), TopicPartition("t", 3), TopicPartition("ü", 1)]


def heard(assignor, owned=(), had=(), generation=7):
    said = subscription_bytes(assignor, ["u", "t"], owned, had, generation)
    return subscriber_of(JoinGroupResponseMember("m", "i", said), assignor)


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
def test_a_subscription_tells_what_is_owned(assignor):
    found = heard(assignor, owned=PLACES)
    assert (found.member_id, found.instance_id, found.topics) == ("m", "i", {"t", "u"})
    assert (found.owned, found.generation) == (tuple(PLACES), 7)


def test_an_eager_sticky_member_tells_what_it_has_had():
    assert heard("sticky", had=PLACES).owned == tuple(PLACES)
    assert heard("sticky", had=PLACES).generation == 7


def test_assignments_come_back():
    assert read_assignment(assignment_bytes(PLACES), "g") == set(PLACES)
    assert read_assignment(b"", "g") == frozenset()


@given(st.binary(max_size=80), st.sampled_from(["range", "sticky", "cooperative-sticky"]))
def test_nonsense_is_one_kind_of_error(data, assignor):
    with contextlib.suppress(UnexpectedResponse):
        subscriber_of(JoinGroupResponseMember("m", None, data), assignor)
    with contextlib.suppress(UnexpectedResponse):
        read_assignment(data, "g")


@given(st.binary(max_size=60))
def test_nonsense_in_the_user_data_counts_as_nothing(data):
    from distributedlog.wire.values import ConsumerProtocolSubscription, encode_subscription

    said = encode_subscription(ConsumerProtocolSubscription(["t"], data))
    assert isinstance(subscriber_of(JoinGroupResponseMember("m", None, said), "sticky").owned, tuple)


def test_the_user_data_is_as_others_write_it():
    """Taken from aiokafka, whose words are the Java client's."""
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyAssignorUserDataV1

    from distributedlog.wire.values import decode_subscription

    theirs = StickyAssignorUserDataV1([("t", [0, 3]), ("ü", [1])], 7).encode()
    ours = decode_subscription(subscription_bytes("sticky", ["t"], [], PLACES, 7)).user_data
    assert ours == theirs
