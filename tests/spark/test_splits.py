from hypothesis import given
from hypothesis import strategies as st

from distributedlog.client import TopicPartition
from distributedlog.client.offset_range import OffsetRange
from distributedlog.spark.splits import gather_small, limited, split_ranges

SIZES = st.lists(st.integers(0, 10_000), min_size=1, max_size=5)


def ranges_of(sizes):
    return [OffsetRange(TopicPartition("t", index), 100, 100 + size) for index, size in enumerate(sizes)]


@given(SIZES, st.none() | st.integers(1, 40), st.none() | st.integers(1, 5_000))
def test_splits_cover_each_range_once(sizes, parts_min, offsets_max):
    splits = split_ranges(ranges_of(sizes), parts_min, offsets_max)
    for entry in ranges_of(sizes):
        parts = sorted((part.start, part.end) for part in splits if part.partition == entry.partition)
        borders = [entry.start, *(end for _, end in parts)] if parts else [entry.start]
        assert borders[:-1] == [start for start, _ in parts]
        assert borders[-1] == entry.end or entry.start == entry.end
    assert all(part.start < part.end for part in splits)
    if offsets_max is not None:
        assert all(part.end - part.start <= offsets_max for part in splits)
    if parts_min is not None:
        assert len(splits) >= min(parts_min, sum(sizes))


@given(SIZES, st.integers(1, 3_000))
def test_a_batch_is_limited_and_every_partition_moves(sizes, offsets_max):
    start = {TopicPartition("t", index): 7 for index in range(len(sizes))}
    end = {TopicPartition("t", index): 7 + size for index, size in enumerate(sizes)}
    found = limited(start, end, offsets_max)
    moved = {partition: found[partition] - start[partition] for partition in end}
    assert all(0 <= moved[partition] <= end[partition] - 7 for partition in end)
    assert all(moved[partition] for partition in end if end[partition] > 7)
    assert sum(moved.values()) <= max(offsets_max + len(sizes), 0)


@given(SIZES, st.integers(1, 3_000))
def test_small_splits_share_a_task(sizes, small):
    splits = split_ranges(ranges_of(sizes), None, None)
    tasks = gather_small(splits, small)
    assert sorted((part for task in tasks for part in task), key=lambda part: part.partition) == splits
    assert all(task for task in tasks)
    shared = [task for task in tasks if len(task) > 1]
    assert all(sum(part.end - part.start for part in task) <= small for task in shared)
