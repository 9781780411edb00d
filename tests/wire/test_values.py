"""The consumer protocol, and the records of __consumer_offsets and __transaction_state."""

import contextlib
import random

import pytest
from hypothesis import given, settings
from tests.wire import kafka_python
from tests.wire.random_messages import damaged, random_message
from tests.wire.strategies import messages
from tests.wire.trees import tree_of, without_defaults

from distributedlog.wire import EncodeError, ProtocolError, UnsupportedFieldError
from distributedlog.wire.values import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    UnknownKey,
    decode_assignment,
    decode_offsets_key,
    decode_offsets_value,
    decode_subscription,
    decode_transaction_key,
    decode_transaction_value,
    encode_assignment,
    encode_offsets_key,
    encode_offsets_value,
    encode_subscription,
    encode_transaction_key,
    encode_transaction_value,
)
from distributedlog.wire.values.consumer_group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from distributedlog.wire.values.consumer_protocol import ASSIGNMENT, SUBSCRIPTION
from distributedlog.wire.values.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from distributedlog.wire.values.offsets_topic import OFFSETS_RECORD_TYPES
from distributedlog.wire.values.transaction_state import (
    TRANSACTION_RECORD_TYPES,
    TransactionLogKey,
    TransactionLogValue,
    TransactionPartitions,
)

CONSUMER_PROTOCOL = [
    pytest.param(versioned, name, version, id=f"{name}-{version}")
    for versioned, name in ((SUBSCRIPTION, "subscription"), (ASSIGNMENT, "assignment"))
    for version in range(4)
]
RECORD_TYPES = [
    pytest.param(record_types, record_type, id=record_type.key_class.__name__ + str(record_type.number))
    for record_types in (OFFSETS_RECORD_TYPES, TRANSACTION_RECORD_TYPES)
    for record_type in record_types
]


@pytest.mark.parametrize(("versioned", "name", "version"), CONSUMER_PROTOCOL)
def test_the_consumer_protocol_is_that_of_kio(kio, versioned, name, version):
    codec = versioned.codec(version)
    theirs = (f"consumer_protocol_{name}", version, "data")

    @settings(max_examples=25)
    @given(messages(codec.layout, kio.describe(*theirs)))
    def compare(message):
        tree = tree_of(codec.layout, message)
        data = codec.encode(message)
        assert versioned.encode(message, version) == version.to_bytes(2) + data
        assert kio.encode_and_decode(*theirs, tree, data) == (data, (tree, len(data)))
        assert versioned.decode(version.to_bytes(2) + data) == message

    compare()


@pytest.mark.parametrize(("versioned", "name", "version"), CONSUMER_PROTOCOL)
def test_the_consumer_protocol_is_that_of_kafka_python(versioned, name, version):
    codec = versioned.codec(version)
    theirs = kafka_python.message_class(f"ConsumerProtocol{name.capitalize()}")

    @settings(max_examples=25)
    @given(messages(codec.layout))
    def compare(message):
        tree = without_defaults(codec.layout, tree_of(codec.layout, message))
        data = versioned.encode(message, version)
        assert bytes(kafka_python.from_tree(theirs, version, tree).encode()) == data
        assert kafka_python.to_tree(theirs.decode(data), version) == tree

    compare()


def test_a_subscription_of_a_newer_version_is_read_as_the_newest_known():
    subscription = ConsumerProtocolSubscription(
        ["a"], b"data", [TopicPartitions("a", [1])], generation_id=4, rack_id="r1"
    )
    data = encode_subscription(subscription)
    assert decode_subscription(b"\x00\x09" + data[2:] + b"what version 9 adds") == subscription
    with pytest.raises(ProtocolError, match="version -1"):
        decode_subscription(b"\xff\xff" + data[2:])


def test_an_assignment_survives_the_way_through_the_coordinator():
    assignment = ConsumerProtocolAssignment([TopicPartitions("a", [0, 1])], user_data=None)
    data = encode_assignment(assignment)
    assert data == bytes.fromhex("0003 00000001 0001 61 00000002 00000000 00000001 ffffffff")
    assert decode_assignment(data) == assignment


def test_an_offset_commit_record_is_laid_out_as_kafka_writes_it():
    key = OffsetCommitKey(group="g", topic="t", partition=5)
    value = OffsetCommitValue(offset=42, leader_epoch=7, metadata="m", commit_timestamp=1000)
    key_data = bytes.fromhex("0001 0001 67 0001 74 00000005")
    assert encode_offsets_key(key) == key_data
    assert decode_offsets_key(key_data) == key
    version_3 = bytes.fromhex("0003 000000000000002a 00000007 0001 6d 00000000000003e8")
    assert encode_offsets_value(value, 3) == version_3
    assert decode_offsets_value(key, version_3) == value
    version_4 = bytes.fromhex("0004 000000000000002a 00000007 02 6d 00000000000003e8 00")
    assert encode_offsets_value(value) == version_4
    assert decode_offsets_value(key, version_4) == value


def test_the_oldest_offset_commit_key_is_still_read():
    data = bytes.fromhex("0000 0001 67 0001 74 00000005")
    assert decode_offsets_key(data) == OffsetCommitKey("g", "t", 5)


def test_a_group_metadata_record_is_laid_out_as_kafka_writes_it():
    member = MemberMetadata("m", None, "c", "h", 300, 200, b"S", b"A")
    value = GroupMetadataValue("consumer", 3, "range", "m", 99, [member])
    data = bytes.fromhex(
        "0003 0008 636f6e73756d6572 00000003 0005 72616e6765 0001 6d 0000000000000063 00000001"
        "0001 6d ffff 0001 63 0001 68 0000012c 000000c8 00000001 53 00000001 41"
    )
    assert encode_offsets_value(value, 3) == data
    assert decode_offsets_value(GroupMetadataKey("g"), data) == value


MEMBER_HEAD = "0000 00 00 01 01 01 00 ffffffff 00"


@pytest.mark.parametrize(
    ("classic", "tags"),
    [
        # The bytes are those of Kafka's own classes: a varint tells null from present, and since the
        # default is an empty struct, it is null that has to be written out.
        (ClassicMemberMetadata(), "00"),
        (None, "01 00 01 00"),
        (ClassicMemberMetadata(7, [ClassicProtocol("r", b"x")]), "01 00 0c 01 00000007 02 02 72 02 78 00 00"),
    ],
    ids=["default", "null", "present"],
)
def test_a_tagged_struct_that_may_be_null_is_marked_inside_of_the_tag(classic, tags):
    value = ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        subscribed_topic_regex=None,
        server_assignor=None,
        classic_member_metadata=classic,
    )
    data = bytes.fromhex(MEMBER_HEAD + tags)
    assert encode_offsets_value(value) == data
    assert decode_offsets_value(ConsumerGroupMemberMetadataKey(), data) == value


def test_a_transaction_record_is_laid_out_as_kafka_writes_it():
    key = TransactionLogKey("tx")
    value = TransactionLogValue(
        producer_id=9,
        producer_epoch=2,
        transaction_timeout_ms=60_000,
        transaction_status=1,
        transaction_partitions=[TransactionPartitions("t", [3])],
        transaction_last_update_timestamp_ms=11,
        transaction_start_timestamp_ms=10,
    )
    assert encode_transaction_key(key) == bytes.fromhex("0000 0002 7478")
    version_0 = bytes.fromhex(
        "0000 0000000000000009 0002 0000ea60 01 00000001 0001 74 00000001 00000003"
        "000000000000000b 000000000000000a"
    )
    assert encode_transaction_value(value, 0) == version_0
    assert decode_transaction_value(key, version_0) == value
    value.client_transaction_version = 2
    version_1 = bytes.fromhex(
        "0001 0000000000000009 0002 0000ea60 01 02 02 74 02 00000003 00"
        "000000000000000b 000000000000000a 01 02 02 0002"
    )
    assert encode_transaction_value(value) == version_1
    assert decode_transaction_value(key, version_1) == value


def test_what_version_0_of_a_transaction_cannot_hold_is_not_dropped():
    with pytest.raises(UnsupportedFieldError, match="client_transaction_version"):
        encode_transaction_value(TransactionLogValue(client_transaction_version=2), 0)


def test_a_key_of_an_unknown_type_stops_no_replay():
    assert decode_offsets_key(b"\x00\x63rest") == UnknownKey(99, b"rest")
    assert decode_transaction_key(b"\x00\x07rest") == UnknownKey(7, b"rest")


def test_a_null_value_deletes():
    assert decode_offsets_value(OffsetCommitKey("g", "t", 0), None) is None
    assert decode_transaction_value(TransactionLogKey("tx"), None) is None


def test_a_value_of_an_unknown_version_is_an_error_that_says_so():
    with pytest.raises(ProtocolError, match="OffsetCommitValue of version 9"):
        decode_offsets_value(OffsetCommitKey(), b"\x00\x09" + bytes(40))
    with pytest.raises(EncodeError, match="versions 0 to 4, but not 9"):
        encode_offsets_value(OffsetCommitValue(), 9)


@pytest.mark.parametrize("data", [b"", b"\x00"])
def test_a_value_too_short_for_its_prefix_is_refused(data):
    with pytest.raises(ProtocolError, match="too short"):
        decode_offsets_key(data)
    with pytest.raises(ProtocolError, match="too short"):
        decode_subscription(data)


def test_what_belongs_to_another_topic_cannot_be_encoded():
    with pytest.raises(EncodeError, match="TransactionLogKey is no key"):
        encode_offsets_key(TransactionLogKey("tx"))
    with pytest.raises(EncodeError, match="OffsetCommitValue is no value"):
        encode_transaction_value(OffsetCommitValue())


@pytest.mark.parametrize(("record_types", "record_type"), RECORD_TYPES)
def test_every_record_comes_back_in_every_version(record_types, record_type):
    generator = random.Random(record_type.number)
    for version in range(record_type.value.last + 1):
        layout = record_type.value.codec(version).layout
        for _ in range(20):
            value = random_message(generator, layout)
            data = record_types.encode_value(value, version)
            assert record_types.decode_value(record_type.key_class(), data) == value


@pytest.mark.fuzz
@pytest.mark.parametrize(("record_types", "record_type"), RECORD_TYPES)
def test_damaged_records_are_decoded_or_refused(fuzz_cases, record_types, record_type):
    generator = random.Random(record_type.number)
    key = record_type.key_class()
    layout = record_type.value.codec(record_type.value.last).layout
    samples = [record_types.encode_value(random_message(generator, layout), None) for _ in range(8)]
    for _ in range(max(20, fuzz_cases(160_000) // 400)):
        data = damaged(generator, generator.choice(samples), generator.choice(samples))
        for decode in (record_types.decode_key, lambda data: record_types.decode_value(key, data)):
            with contextlib.suppress(ProtocolError):
                decode(data)
