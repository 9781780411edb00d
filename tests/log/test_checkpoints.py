import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.log.checkpoints import OffsetCheckpoint, decode_checkpoint, encode_checkpoint
from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import REAL_FILES


@pytest.fixture
def checkpoint(tmp_path):
    return OffsetCheckpoint(REAL_FILES, tmp_path / "recovery-point-offset-checkpoint")


def test_golden_bytes(checkpoint):
    checkpoint.write({("orders", 0): 1571, ("orders", 11): 0, ("a.b_c-d", 3): 2**63 - 1})
    assert checkpoint.path.read_bytes() == (
        b"0\n3\norders 0 1571\norders 11 0\na.b_c-d 3 9223372036854775807\n"
    )


def test_no_file_and_an_empty_file_mean_no_offsets(checkpoint):
    assert checkpoint.read() == {}
    checkpoint.path.write_bytes(b"")
    assert checkpoint.read() == {}
    checkpoint.write({})
    assert checkpoint.path.read_bytes() == b"0\n0\n"
    assert checkpoint.read() == {}


def test_reads_what_kafka_may_write(checkpoint):
    checkpoint.path.write_bytes(b"0\r\n2\r\nt 0  5\r\nt\t1 6\n")
    assert checkpoint.read() == {("t", 0): 5, ("t", 1): 6}


topics = st.text("abcXYZ019._-", min_size=1, max_size=20)
offsets_by_partition = st.dictionaries(
    st.tuples(topics, st.integers(0, 2**31 - 1)), st.integers(0, 2**63 - 1), max_size=8
)


@given(offsets=offsets_by_partition)
def test_round_trip(tmp_path_factory, offsets):
    checkpoint = OffsetCheckpoint(REAL_FILES, tmp_path_factory.mktemp("c") / "checkpoint")
    checkpoint.write(offsets)
    assert checkpoint.read() == offsets


def test_write_replaces_the_whole_file(checkpoint):
    checkpoint.write({("t", partition): 1 for partition in range(50)})
    checkpoint.write({("t", 0): 2})
    assert checkpoint.read() == {("t", 0): 2}
    assert [path.name for path in checkpoint.path.parent.iterdir()] == [checkpoint.path.name]


@pytest.mark.parametrize(
    ("data", "position", "words"),
    [
        (b"1\n0\n", 0, "line 1.*version 0"),
        (b"x\n0\n", 0, "line 1, 'x'"),
        (b"0", 1, "within a line"),
        (b"0\n", 2, "before the number of entries"),
        (b"0\n1\nt 0 15", 10, "within a line"),
        (b"0\n-1\n", 2, "line 2, '-1'"),
        (b"0\n2\nt 0 5\n", 2, "line 2.*2 entries announced, 1 found"),
        (b"0\n1\nt 0 5\nt 1 6\n", 2, "line 2.*1 entries announced, 2 found"),
        (b"0\n2\nt 0 5\nt 1\n", 10, "line 4, 't 1': 3 fields expected"),
        (b"0\n2\nt 0 5\n\n", 10, "line 4, '': 3 fields expected"),
        (b"0\n1\nt 0 5 7\n", 4, "line 3, 't 0 5 7': 3 fields expected"),
        (b"0\n1\nt zero 5\n", 4, "line 3.*'zero' is not a number"),
        (b"0\n1\nt -1 5\n", 4, "line 3.*'-1' is not a number from 0"),
        (b"0\n1\nt 2147483648 5\n", 4, "line 3"),
        (b"0\n1\nt 0 9223372036854775808\n", 4, "line 3"),
        (b"0\n1\nt 0 1_0\n", 4, "line 3"),
        (b"0\n2\nt 0 5\nt 0 5\n", 10, "line 4.*listed before"),
        (b"0\n1\nt 0 \xff\n", 8, "UTF-8"),
    ],
)
def test_damage_is_named_by_line_and_place(checkpoint, data, position, words):
    checkpoint.path.write_bytes(data)
    with pytest.raises(CorruptLog, match=words) as caught:
        checkpoint.read()
    assert caught.value.position == position
    assert caught.value.path == str(checkpoint.path)


@pytest.mark.parametrize(
    "offsets",
    [{("a b", 0): 1}, {("", 0): 1}, {("a\n", 0): 1}, {("a", -1): 1}, {("a", 0): -1}, {("a", 0): 2**63}],
)
def test_what_could_not_be_read_back_is_not_written(checkpoint, offsets):
    checkpoint.write({("t", 0): 1})
    with pytest.raises(ValueError):
        checkpoint.write(offsets)
    assert checkpoint.read() == {("t", 0): 1}


@given(st.binary(max_size=60))
def test_any_bytes_give_offsets_or_corrupt_log(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any-bytes"
    path.write_bytes(data)
    with contextlib.suppress(CorruptLog):
        assert isinstance(OffsetCheckpoint(REAL_FILES, path).read(), dict)


@given(offsets_by_partition)
def test_a_cut_file_is_never_read_as_whole(offsets):
    whole = encode_checkpoint(f"{topic} {number} {offset}" for (topic, number), offset in offsets.items())
    for size in range(1, len(whole)):
        with pytest.raises(CorruptLog):
            decode_checkpoint("p", whole[:size])
    assert len(decode_checkpoint("p", whole)) == len(offsets)
