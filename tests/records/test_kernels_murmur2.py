"""Keys by the column go where keys one by one go."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.client.producer.partitioners import by_murmur2
from distributedlog.records.errors import InvalidRecordError
from distributedlog.records.kernels_murmur2 import NO_KEY, murmur2_partitions


def columns(keys):
    array = pa.array(keys, pa.binary())
    _, offsets, data = array.buffers()
    return (
        np.frombuffer(offsets, np.int32)[: len(keys) + 1],
        np.frombuffer(data if data is not None else b"", np.uint8),
        array.is_valid().to_numpy(zero_copy_only=False),
    )


@given(st.lists(st.none() | st.binary(max_size=40), max_size=30), st.integers(1, 2**31 - 1))
def test_same_partition_as_one_by_one(keys, count):
    offsets, data, validity = columns(keys)
    found = murmur2_partitions(offsets, data, validity, count).tolist()
    assert found == [NO_KEY if key is None else by_murmur2("t", key, count) for key in keys]


def test_a_known_hash():
    offsets, data, _ = columns([b"21", b"foobar", b"a-little-bit-long-string"])
    hashes = [-973932308, -790332482, -985981536]  # from the tests of Kafka's own clients
    expected = [(value & 0x7FFFFFFF) % 1000 for value in hashes]
    assert murmur2_partitions(offsets, data, None, 1000).tolist() == expected


@pytest.mark.parametrize("offsets", [[0, 5], [-1, 2], [0, 3, 2]])
def test_offsets_outside_of_the_data_are_refused(offsets):
    with pytest.raises(InvalidRecordError):
        murmur2_partitions(np.array(offsets, np.int32), np.zeros(4, np.uint8), None, 3)
