"""Records of the metadata log: KRaft's bytes, and nothing but `ProtocolError` for all others.

That Kafka reads what we write is a test of `make peers`.
"""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.wire import EncodeError, ProtocolError
from distributedlog.wire.values.metadata_records import (
    ClientQuotaEntity,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    decode_metadata_record,
    encode_metadata_record,
)

ID = bytes(range(16))

#: Frame version, type, version; then the fields, compact; then the number of tagged fields.
BYTES = [
    (TopicRecord("ab", ID), "010200" + "03" + "6162" + ID.hex() + "00"),
    (
        PartitionRecord(5, ID, [1, 2], [1], leader=1, leader_epoch=3, partition_epoch=4),
        "010301" + "00000005" + ID.hex() + "030000000100000002" + "0200000001" + "01" + "01"
        "00000001" + "00000003" + "00000004" + "01" + "00",
    ),
    (ConfigRecord(2, "t", "k", None), "010400" + "02" + "0274" + "026b" + "00" + "00"),
    (ConfigRecord(2, "t", "k", "v"), "010400" + "02" + "0274" + "026b" + "0276" + "00"),
    (RemoveTopicRecord(ID), "010900" + ID.hex() + "00"),
    (FeatureLevelRecord("f", 25), "010c00" + "0266" + "0019" + "00"),
    (
        ClientQuotaRecord([ClientQuotaEntity("user", None)], "k", 1.0, False),
        "010e00" + "02" + "0575736572" + "00" + "00" + "026b" + "3ff0000000000000" + "00" + "00",
    ),
    (ProducerIdsRecord(1, -1, 1000), "010f00" + "00000001" + "ff" * 8 + "00000000000003e8" + "00"),
    (
        PartitionChangeRecord(5, ID, isr=[1], leader=-1),
        "010501" + "00000005" + ID.hex() + "02" + "00" + "05" + "0200000001" + "01" + "04" + "ffffffff",
    ),
    (UnregisterBrokerRecord(1, 2), "010100" + "00000001" + "0000000000000002" + "00"),
    (
        RegisterBrokerRecord(1, incarnation_id=ID, broker_epoch=9),
        "010003"
        + "00000001"
        + "00"
        + ID.hex()
        + "0000000000000009"
        + "01"
        + "01"
        + "00"
        + "01"
        + "00"
        + "00",
    ),
]


@pytest.mark.parametrize(("record", "data"), BYTES)
def test_the_bytes_of_a_record(record, data):
    assert encode_metadata_record(record).hex() == data
    assert decode_metadata_record(bytes.fromhex(data)) == record


@pytest.mark.parametrize(
    "data",
    [
        "",
        "01",
        "0102",
        "000200",
        "020200",
        "016300",
        "010201",
        "01020003",
        "8080808080808001",
        "ff",
        "010900",
    ],
)
def test_bytes_that_are_no_record(data):
    with pytest.raises(ProtocolError):
        decode_metadata_record(bytes.fromhex(data))


def test_bytes_behind_a_record_are_no_part_of_it():
    with pytest.raises(ProtocolError, match="too early"):
        decode_metadata_record(encode_metadata_record(TopicRecord("a", ID)) + b"\0")


def test_what_is_no_record_is_not_encoded():
    with pytest.raises(EncodeError):
        encode_metadata_record(ClientQuotaEntity("user", "u"))


@given(st.sampled_from(BYTES), st.data())
def test_damaged_records_give_a_record_or_the_one_error(example, data):
    damaged = bytearray.fromhex(example[1])
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(1, len(damaged))) :]
    with suppress(ProtocolError):
        decode_metadata_record(bytes(damaged))
