"""The compiled codecs: golden bytes, zero copy, and each refusal with its reason."""

import traceback
from dataclasses import dataclass, field
from typing import Annotated

import pytest

from distributedlog.wire import APIS, ZERO_UUID, EncodeError, ProtocolError, UnsupportedFieldError
from distributedlog.wire.codec import Codec, codec_of
from distributedlog.wire.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from distributedlog.wire.schema import (
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    UInt16,
    UInt32,
    Uuid,
    ignorable,
    nullable,
    tagged,
    versions,
)


@dataclass(slots=True)
class Inner:
    number: Int16 = -1
    text: str = ""


@dataclass(slots=True)
class Everything:
    int8: Int8 = 0
    uint16: UInt16 = 0
    uint32: UInt32 = 0
    int64: Int64 = 0
    float64: float = 0.0
    boolean: bool = False
    uuid: Uuid = ZERO_UUID
    text: str = ""
    maybe_text: Annotated[str | None, nullable("1+")] = None
    data: bytes = b""
    maybe_data: bytes | None = None
    numbers: list[Int32] = field(default_factory=list)
    maybe_numbers: list[Int32] | None = None
    texts: list[str] = field(default_factory=list)
    uuids: list[Uuid] = field(default_factory=list)
    inner: Inner = field(default_factory=Inner)
    maybe_inner: Inner | None = None
    inners: list[Inner] = field(default_factory=list)
    later: Annotated[Int32, versions("2+")] = -1
    records: Records | None = None
    tag_5: Annotated[Inner, tagged(5, "2+"), ignorable] = field(default_factory=Inner)
    tag_1: Annotated[str | None, tagged(1, "2+"), ignorable] = None


FLEXIBLE = codec_of(Everything, 2, True)
FIXED = codec_of(Everything, 1, False)
OLDEST = codec_of(Everything, 0, False)


def everything():
    return Everything(
        int8=-1,
        uint16=65535,
        uint32=2**32 - 1,
        int64=-2,
        float64=1.5,
        boolean=True,
        uuid=bytes(range(16)),
        text="a",
        maybe_text="b",
        data=b"c",
        maybe_data=b"",
        numbers=[1, -1],
        maybe_numbers=[],
        texts=["", "d"],
        uuids=[bytes(range(16))],
        inner=Inner(1, "e"),
        maybe_inner=Inner(2, "f"),
        inners=[Inner(3, "g")],
        later=9,
        records=b"rr",
        tag_5=Inner(4, "h"),
        tag_1="i",
    )


UUID_HEX = "000102030405060708090a0b0c0d0e0f"
FLEXIBLE_BYTES = bytes.fromhex(
    f"ff ffff ffffffff fffffffffffffffe 3ff8000000000000 01 {UUID_HEX} 02 61 02 62 02 63 01"
    f"03 00000001 ffffffff 01 03 01 02 64 02 {UUID_HEX} 0001 02 65 00 01 0002 02 66 00 02 0003 02 67 00"
    "00000009 03 7272 02 01 02 02 69 05 05 0004 02 68 00"
)
FIXED_BYTES = bytes.fromhex(
    f"ff ffff ffffffff fffffffffffffffe 3ff8000000000000 01 {UUID_HEX} 0001 61 0001 62 00000001 63 00000000"
    f"00000002 00000001 ffffffff 00000000 00000002 0000 0001 64 00000001 {UUID_HEX} 0001 0001 65"
    "01 0002 0001 66 00000001 0003 0001 67 00000002 7272"
)


def test_every_kind_of_field_has_its_flexible_form():
    assert FLEXIBLE.encode(everything()) == FLEXIBLE_BYTES
    assert FLEXIBLE.decode(FLEXIBLE_BYTES) == (everything(), len(FLEXIBLE_BYTES))


def test_every_kind_of_field_has_its_fixed_form():
    message = everything()
    message.later, message.tag_5, message.tag_1 = -1, Inner(), None
    assert FIXED.encode(message) == FIXED_BYTES
    assert FIXED.decode(FIXED_BYTES) == (message, len(FIXED_BYTES))


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview], ids=lambda make: make.__name__)
def test_any_buffer_can_be_decoded_from_any_position(make):
    buffer = make(b"head" + FLEXIBLE_BYTES + b"tail")
    assert FLEXIBLE.decode(buffer, 4) == (everything(), 4 + len(FLEXIBLE_BYTES))


def test_decoded_lists_are_not_shared_between_messages():
    data = FIXED.encode(Everything(maybe_text="x"))
    first, _ = FIXED.decode(data)
    second, _ = FIXED.decode(data)
    first.numbers.append(1)
    first.tag_5.number = 7
    assert second.numbers == []
    assert second.tag_5 == Inner()


def test_records_are_a_view_of_the_frame_and_not_a_copy():
    frame = bytearray(FLEXIBLE_BYTES)
    message, _ = FLEXIBLE.decode(frame)
    at = bytes(frame).index(b"rr")
    frame[at] = ord("R")
    assert bytes(message.records) == b"Rr"


class FileRegion:
    """Bytes that only the file knows."""

    def __len__(self):
        return 1000


def test_a_region_stays_a_piece_of_its_own():
    region = FileRegion()
    request = ProduceRequest(
        topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(1, region)] * 2)]
    )
    pieces = APIS[0].request(9).encode_pieces(request)
    assert [piece is region for piece in pieces] == [False, True, False, True, False]
    joined = b"".join(bytes(1000) if piece is region else piece for piece in pieces)
    assert joined == APIS[0].request(9).encode(
        ProduceRequest(
            topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(1, bytes(1000))] * 2)]
        )
    )


@pytest.mark.parametrize("records", [None, b""], ids=["null", "empty"])
def test_records_without_bytes_make_no_piece(records):
    message = everything()
    message.records = records
    assert FLEXIBLE.encode_pieces(message) == [FLEXIBLE.encode(message)]


def test_a_message_without_records_is_one_piece():
    response = ProduceResponse([TopicProduceResponse("t", partition_responses=[PartitionProduceResponse()])])
    codec = APIS[0].response(9)
    assert codec.encode_pieces(response) == [codec.encode(response)]


def test_encode_says_that_a_region_needs_pieces():
    message = everything()
    message.records = FileRegion()
    with pytest.raises(EncodeError, match=r"Everything\.records .* encode_pieces"):
        FLEXIBLE.encode(message)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"int8": 128}, r"Everything\.int8 cannot be an int8: 128"),
        ({"uint16": -1}, r"Everything\.uint16 cannot be an uint16: -1"),
        ({"int64": 2**63}, r"Everything\.int64 cannot be an int64"),
        ({"int64": None}, r"Everything\.int64 is None"),
        ({"int64": 1.5}, r"Everything\.int64 cannot be an int64: 1\.5"),
        ({"float64": "x"}, r"Everything\.float64 cannot be an float"),
        ({"uuid": b"short"}, r"Everything\.uuid must be 16 bytes"),
        ({"text": None}, r"Everything\.text is None"),
        ({"text": b"bytes"}, r"Everything\.text must be a str"),
        ({"text": "\udc80"}, r"Everything\.text cannot be written as UTF-8"),
        ({"data": "str"}, r"Everything\.data must be bytes"),
        ({"data": None}, r"Everything\.data is None"),
        ({"numbers": None}, r"Everything\.numbers is None"),
        ({"numbers": [1, "x"]}, r"Everything\.numbers\[1\] cannot be an int32"),
        ({"numbers": 5}, r"Everything\.numbers must be a list"),
        ({"texts": ["a", None]}, r"Everything\.texts\[1\] must be a str"),
        ({"uuids": [b""]}, r"Everything\.uuids must be 16 bytes"),
        ({"inner": None}, r"Everything\.inner is None"),
        ({"inners": [Inner(), Inner(2**15)]}, r"Everything\.inners\[1\]\.number cannot be an int16"),
        ({"inners": [Everything()]}, r"Everything\.inners\[0\] must be a Inner"),
        ({"tag_5": Inner(2**15)}, r"Everything\.tag_5\.number cannot be an int16"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_named(changes, reason):
    message = everything()
    for name, value in changes.items():
        setattr(message, name, value)
    with pytest.raises(EncodeError, match=reason):
        FLEXIBLE.encode(message)
    assert isinstance(EncodeError(), ValueError)


@pytest.mark.parametrize("codec", [FIXED, FLEXIBLE], ids=["fixed", "flexible"])
def test_a_string_has_32767_bytes_at_most(codec):
    message = Everything(maybe_text="x", text="y" * 32767)
    assert codec.decode(codec.encode(message))[0] == message
    message.text += "y"
    with pytest.raises(EncodeError, match="32767"):
        codec.encode(message)


def test_a_field_never_set_is_named():
    message = object.__new__(Inner)
    with pytest.raises(EncodeError, match=r"Inner\.number is not set"):
        codec_of(Inner, 0, False).encode(message)


def test_a_value_for_a_field_that_the_version_lacks_is_refused():
    with pytest.raises(UnsupportedFieldError, match=r"Everything\.later has a value, but version 1"):
        FIXED.encode(everything())


def test_an_ignorable_value_is_dropped_in_a_version_without_the_field():
    plain = Everything(maybe_text="x")
    assert FIXED.encode(Everything(maybe_text="x", tag_1="dropped")) == FIXED.encode(plain)


def test_null_is_refused_in_the_versions_that_do_not_allow_it():
    with pytest.raises(EncodeError, match=r"Everything\.maybe_text is None, which this version"):
        OLDEST.encode(Everything())
    data = FIXED.encode(Everything())
    with pytest.raises(ProtocolError, match=r"Everything\.maybe_text is null"):
        OLDEST.decode(data)


def small(codec_class=Inner):
    return codec_of(codec_class, 0, True)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "goes on after the 0 bytes"),
        ("0001", "goes on after the 2 bytes"),
        ("0001 00", r"Inner\.text is null"),
        ("0001 05 6162", r"Inner\.text has length 4, which does not fit into the 2 bytes left"),
        ("0001 02 80 00", "not UTF-8"),
        ("0001 01", "goes on after the 3 bytes"),
        ("0001 8180 80 80 80 80 00", "longer than 32 bits"),
        ("0001 ffff ffff 7f 00", "longer than 32 bits"),
        ("0001 81 80 02 00", "32768 bytes, a string has 32767"),
        ("0001 01 01", "goes on after the 4 bytes"),
        ("0001 01 01 00 05 00", "tagged field 0 claims 5 bytes where 1 are left"),
        ("0001 01 02 03 00 03 00", "tagged field 3 follows tagged field 3"),
        ("0001 01 02 03 00 02 00", "tagged field 2 follows tagged field 3"),
    ],
)
def test_bytes_that_are_no_message_are_refused_with_the_reason(data, reason):
    with pytest.raises(ProtocolError, match=reason):
        small().decode(bytes.fromhex(data))


def test_unknown_tagged_fields_are_skipped():
    data = bytes.fromhex("0001 02 61 02 00 03 616263 80 01 00")
    assert small().decode(data) == (Inner(1, "a"), len(data))


@dataclass(slots=True)
class Tagged:
    known: Annotated[Int32, tagged(1, "0+")] = 0
    texts: Annotated[list[str], tagged(3, "0+")] = field(default_factory=list)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("01 01 03 000000", "goes on after the 6 bytes"),
        ("01 01 05 0000000000", r"Tagged\.known: the value of the tagged field has not the size"),
        ("01 01 03 00000000", r"Tagged\.known: the value of the tagged field has not the size"),
        ("02 03 01 01 01 04 00000000", "tagged field 1 follows tagged field 3"),
        ("02 01 04 00000000 01 04 00000000", "tagged field 1 follows tagged field 1"),
        ("01 03 02 ff01", r"Tagged\.texts has length 254"),
        ("01 01 84 80 80 80 10 00000000", "longer than 32 bits"),
    ],
)
def test_a_damaged_tag_section_is_refused_with_the_reason(data, reason):
    with pytest.raises(ProtocolError, match=reason):
        codec_of(Tagged, 0, True).decode(bytes.fromhex(data))


def test_unknown_tags_around_known_ones_are_skipped():
    data = bytes.fromhex("04 00 01 ff 01 04 00000007 02 00 04 02 ffff")
    assert codec_of(Tagged, 0, True).decode(data) == (Tagged(7), len(data))


@dataclass(slots=True)
class Arrays:
    numbers: list[Int64] = field(default_factory=list)
    inners: list[Inner] | None = None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("ffffffff", r"Arrays\.numbers is null"),
        ("fffffffe", r"Arrays\.numbers has the negative length -2"),
        ("7fffffff", r"Arrays\.numbers has length 2147483647, which does not fit into the 0 bytes left"),
        ("00000002 0000000000000001 00000000000000", r"Arrays\.numbers has length 2"),
        ("00000000 fffffffe", r"Arrays\.inners has the negative length -2"),
        ("00000000 00000001 000000", r"Arrays\.inners has length 1, which does not fit into the 3 bytes"),
    ],
)
def test_an_array_that_cannot_be_so_long_is_refused_before_it_is_made(data, reason):
    with pytest.raises(ProtocolError, match=reason):
        codec_of(Arrays, 0, False).decode(bytes.fromhex(data))


@dataclass(slots=True)
class Flag:
    flag: bool = False


def test_any_byte_but_zero_is_true():
    assert codec_of(Flag, 0, False).decode(b"\x02") == (Flag(True), 1)


def test_long_arrays_cross_the_varint_border():
    for count in (126, 127, 128, 300, 20_000):
        message = everything()
        message.numbers = list(range(count))
        message.inners = [Inner(number % 100, "x") for number in range(count)]
        assert FLEXIBLE.decode(FLEXIBLE.encode(message))[0] == message


def test_a_traceback_shows_the_generated_line():
    with pytest.raises(ProtocolError) as caught:
        small().decode(b"\0\1\0")
    shown = "".join(traceback.format_exception(caught.value))
    assert "<Inner version 0: decode>" in shown
    assert "raise bad_length('Inner.text'" in shown


def test_a_codec_compiles_only_what_is_asked_for():
    codec = Codec(Inner, 0, False)
    codec.decode(b"\0\0\0\0")
    assert codec.decode is codec.decode
    with pytest.raises(AttributeError):
        object.__getattribute__(codec, "encode")
    with pytest.raises(AttributeError):
        codec.no_such_thing  # noqa: B018 - the access is what is tested
