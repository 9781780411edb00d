"""Keys go where other clients send them: the numbers come from those clients' own test suites."""

import pytest

from distributedlog.client.errors import InvalidOption
from distributedlog.client.producer.partitioners import murmur2, murmur3, partitioner_of

#: Kafka's own: org.apache.kafka.common.utils.UtilsTest.testMurmur2, as signed 32-bit numbers.
JAVA_MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}

#: Of the reference implementation of MurmurHash3_x86_32.
MURMUR3 = {
    (b"", 0): 0,
    (b"", 1): 0x514E28B7,
    (b"", 0xFFFFFFFF): 0x81F16F39,
    (b"\xff\xff\xff\xff", 0): 0x76293B50,
    (b"!Ce\x87", 0): 0xF55B516B,
    (b"!Ce\x87", 0x5082EDEE): 0x2362F9DE,
    (b"!Ce", 0): 0x7E4A8634,
    (b"!C", 0): 0xA0F7B07A,
    (b"!", 0): 0x72661CF4,
    (b"Hello, world!", 0x9747B28C): 0x24884CBA,
}


@pytest.mark.parametrize("key", JAVA_MURMUR2)
def test_murmur2_is_javas(key):
    assert murmur2(key) == JAVA_MURMUR2[key] & 0xFFFFFFFF


@pytest.mark.parametrize("key", JAVA_MURMUR2)
@pytest.mark.parametrize("name", ["default", "murmur2"])
def test_a_key_goes_where_java_sends_it(key, name):
    positive = JAVA_MURMUR2[key] & 0x7FFFFFFF
    assert partitioner_of(name)("orders", key, 7) == positive % 7


def test_murmur2_is_that_of_kafka_python():
    from kafka.partitioner.default import murmur2 as theirs

    for length in range(40):
        assert murmur2(bytes(range(length))) == theirs(bytes(range(length))) & 0xFFFFFFFF


@pytest.mark.parametrize(("data", "seed"), MURMUR3)
def test_murmur3_is_the_reference(data, seed):
    assert murmur3(data, seed) == MURMUR3[data, seed]


def test_md5_takes_the_first_four_bytes():
    assert partitioner_of("md5")("orders", b"", 1000) == 0xD41D8CD9 % 1000


@pytest.mark.parametrize("name", ["default", "murmur2", "murmur3", "md5", "sticky"])
def test_without_a_key_they_leave_it_to_the_producer(name):
    assert partitioner_of(name)("orders", None, 7) is None


def test_round_robin_counts_each_topic_for_itself():
    choose = partitioner_of("round_robin")
    assert [choose("a", b"k", 3) for _ in range(4)] == [0, 1, 2, 0]
    assert choose("b", None, 3) == 0


def test_any_callable_is_a_partitioner_and_nothing_else_is():
    assert partitioner_of(len) is len
    with pytest.raises(InvalidOption, match="there is no partitioner 'random'; there are default"):
        partitioner_of("random")
    with pytest.raises(InvalidOption, match="neither a name nor a callable"):
        partitioner_of(7)
