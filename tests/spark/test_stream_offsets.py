import json

import pytest

from distributedlog.client import TopicPartition
from distributedlog.spark.stream_offsets import (
    StreamOffset,
    TopicOffsets,
    UnreadableOffset,
    parse_offset,
)

ORDERS = StreamOffset(
    {"orders": TopicOffsets("ab" * 16, {1: 4, 0: 17}, {1: 0}), "a": TopicOffsets("", {0: 1})}
)
TEXT = (
    '{"version": 1, "topics": {"a": {"id": "", "offsets": {"0": 1}}, "orders": {"id": "'
    + "ab" * 16
    + '", "offsets": {"0": 17, "1": 4}, "begins": {"1": 0}}}}'
)


def test_the_text_is_always_the_same():
    """A checkpoint of this version must stay readable: do not change the text, add a version."""
    assert json.dumps(ORDERS.to_json()) == TEXT
    assert parse_offset(json.loads(TEXT)) == ORDERS


def test_sparks_own_offsets_are_read():
    parsed = parse_offset({"orders": {"0": 23}})
    assert parsed.start_of(TopicPartition("orders", 0), "ff" * 16) == 23
    assert parsed.start_of(TopicPartition("orders", 1), "ff" * 16) is None


def test_another_topic_of_the_same_name_is_not_known():
    assert ORDERS.start_of(TopicPartition("orders", 0), "ab" * 16) == 17
    assert ORDERS.start_of(TopicPartition("orders", 0), "cd" * 16) is None
    assert ORDERS.start_of(TopicPartition("orders", 0), "0" * 32) == 17


@pytest.mark.parametrize(
    "damaged",
    [
        7,
        {"version": 1},
        {"version": "1", "topics": {}},
        {"version": 1, "topics": {"t": {"id": "", "offsets": {"x": 1}}}},
        {"version": 1, "topics": {"t": {"id": "", "offsets": {"0": -1}}}},
        {"version": 1, "topics": {"t": {"offsets": {}}}},
        {"t": [1]},
    ],
)
def test_damage_is_told(damaged):
    with pytest.raises(UnreadableOffset, match="in place of an offset"):
        parse_offset(damaged)


def test_a_later_version_is_told_from_damage():
    with pytest.raises(UnreadableOffset, match="pip install --upgrade distributedlog"):
        parse_offset({"version": 2, "topics": {}})
