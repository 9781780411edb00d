import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.log.config import LogConfig
from distributedlog.log.retention import SegmentView, active_has_expired, segments_to_delete

KEEP = {"retention.ms": "-1", "retention.bytes": "-1"}


def views(*sizes_and_times, offsets=10):
    """Segments of ten offsets each; the last is the active one."""
    return [
        SegmentView(number * offsets, (number + 1) * offsets, size, time, number == len(sizes_and_times) - 1)
        for number, (size, time) in enumerate(sizes_and_times)
    ]


def count(segments, config, now_ms=1000, log_start_offset=0, high_watermark=10**9):
    return segments_to_delete(
        segments,
        LogConfig.from_kafka(KEEP | config),
        now_ms=now_ms,
        log_start_offset=log_start_offset,
        high_watermark=high_watermark,
    )


def test_without_limits_all_stays():
    assert count(views((100, 0), (100, 0), (100, 0)), {}) == 0
    assert count([], {}) == 0


def test_by_time():
    segments = views((1, 100), (1, 200), (1, 300), (1, 1))
    assert count(segments, {"retention.ms": "800"}) == 1
    assert count(segments, {"retention.ms": "799"}) == 2, "older than the limit, not as old as it"
    assert count(segments, {"retention.ms": "0"}) == 3, "never the active one"
    assert count(segments, {"retention.ms": "-1"}) == 0


def test_a_newer_segment_keeps_the_older_ones_behind_it():
    assert count(views((1, 100), (1, 900), (1, 100), (1, 1000)), {"retention.ms": "500"}) == 1


def test_a_timestamp_from_the_future_keeps_its_segment():
    assert count(views((1, 5000), (1, 0), (1, 0)), {"retention.ms": "1"}) == 0


def test_without_timestamps_the_age_is_that_of_the_file():
    old = SegmentView(0, 10, 1, -1, last_modified_ms=100)
    unknown = SegmentView(0, 10, 1, -1)
    active = SegmentView(10, 20, 1, -1, is_active=True)
    assert count([old, active], {"retention.ms": "800"}) == 1
    assert count([old, active], {"retention.ms": "900"}) == 0
    assert count([unknown, active], {"retention.ms": "1"}) == 0


def test_by_size():
    segments = views((100, 0), (100, 0), (100, 0), (50, 0))
    assert count(segments, {"retention.bytes": "350"}) == 0
    assert count(segments, {"retention.bytes": "251"}) == 0, "the log would fall below the limit"
    assert count(segments, {"retention.bytes": "250"}) == 1
    assert count(segments, {"retention.bytes": "151"}) == 1
    assert count(segments, {"retention.bytes": "150"}) == 2
    assert count(segments, {"retention.bytes": "0"}) == 3


def test_by_log_start_offset():
    segments = views((100, 0), (100, 0), (100, 0))
    assert count(segments, {}, log_start_offset=9) == 0
    assert count(segments, {}, log_start_offset=10) == 1
    assert count(segments, {}, log_start_offset=30) == 2


@pytest.mark.parametrize(
    ("policy", "expected"), [("", 1), ("compact", 1), ("compact,delete", 2), ("delete", 2)]
)
def test_time_and_size_count_only_with_the_delete_policy(policy, expected):
    segments = views((100, 0), (100, 0), (100, 1000))
    config = {"cleanup.policy": policy, "retention.ms": "500", "retention.bytes": "1"}
    assert count(segments, config, log_start_offset=10) == expected


def test_never_past_the_high_watermark():
    segments = views((100, 0), (100, 0), (100, 0))
    for config, log_start_offset in (({"retention.ms": "1"}, 0), ({"retention.bytes": "0"}, 0), ({}, 20)):
        for high_watermark, expected in ((9, 0), (10, 1), (19, 1), (20, 2)):
            assert (
                count(segments, config, log_start_offset=log_start_offset, high_watermark=high_watermark)
                == expected
            )


def test_sizes_are_counted_after_what_the_log_start_offset_took():
    segments = views((100, 0), (100, 0), (100, 0))
    assert count(segments, {"retention.bytes": "200"}, log_start_offset=10) == 1
    assert count(segments, {"retention.bytes": "100"}, log_start_offset=10) == 2


@pytest.mark.parametrize(
    ("config", "size", "expected"),
    [
        ({"retention.ms": "499"}, 1, True),
        ({"retention.ms": "500"}, 1, False),
        ({"retention.ms": "499"}, 0, False),
        ({"retention.ms": "499", "cleanup.policy": "compact"}, 1, False),
        ({"retention.bytes": "0"}, 1, True),
        ({"retention.bytes": "1"}, 1, False),
        ({}, 1, False),
    ],
)
def test_an_expired_active_segment_must_roll(config, size, expected):
    active = SegmentView(0, 10, size, 500, is_active=True)
    assert active_has_expired(active, LogConfig.from_kafka(KEEP | config), now_ms=1000) is expected


sizes_and_times = st.lists(st.tuples(st.integers(0, 50), st.integers(-1, 1200)), min_size=1, max_size=8)


@given(
    sizes_and_times,
    st.integers(-1, 300),
    st.integers(-1, 1100),
    st.integers(0, 90),
    st.integers(0, 90),
)
def test_what_goes_had_to_go_and_what_stays_may_stay(
    sizes_and_times, retention_bytes, retention_ms, log_start_offset, high_watermark
):
    segments = views(*sizes_and_times)
    config = {"retention.bytes": str(retention_bytes), "retention.ms": str(retention_ms)}
    deleted = count(segments, config, log_start_offset=log_start_offset, high_watermark=high_watermark)

    def has_a_reason(number):
        segment = segments[number]
        rest = sum(view.size for view in segments[number + 1 :])
        return (
            segment.next_base_offset <= log_start_offset
            or 0 <= retention_bytes <= rest
            or (0 <= retention_ms < 1000 - segment.max_timestamp and segment.max_timestamp >= 0)
        )

    assert deleted < len(segments), "the active segment stays"
    for number in range(deleted):
        assert has_a_reason(number)
        assert segments[number].next_base_offset <= high_watermark
    oldest = segments[deleted]
    assert oldest.is_active or oldest.next_base_offset > high_watermark or not has_a_reason(deleted)
