"""Kafka's choice of a partition, against two other implementations of it."""

from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_pythons_murmur2

from distributedlog.client.partitioner import murmur2, partition_for_key


@given(st.binary(max_size=40))
def test_murmur2_is_kafkas(data):
    assert murmur2(data) == kafka_pythons_murmur2(data)


def test_known_hashes():
    """From the tests of Apache Kafka's own hash."""
    signed = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
    for data, expected in signed.items():
        assert murmur2(data) == expected % 2**32


@given(st.binary(max_size=20), st.integers(1, 1000))
def test_a_key_always_has_a_partition(key, count):
    assert 0 <= partition_for_key(key, count) < count
    assert partition_for_key(key, count) == partition_for_key(bytes(bytearray(key)), count)
