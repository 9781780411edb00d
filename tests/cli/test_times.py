"""Moments and durations as people write them."""

import argparse
import time

import pytest

from distributedlog.cli.times import duration_ms, moment_ms


@pytest.fixture
def in_zone(monkeypatch):
    def set_zone(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield set_zone
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("250ms", 250),
        ("90s", 90_000),
        ("1.5h", 5_400_000),
        ("1h30m", 5_400_000),
        ("2w", 1_209_600_000),
        ("3d", 259_200_000),
    ],
)
def test_durations(text, expected):
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "5", "h", "-1h", "1h 30m", "1y", "1h!", "9" * 30 + "d"])
def test_what_is_no_duration(text):
    with pytest.raises(argparse.ArgumentTypeError):
        duration_ms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1700000000000", 1_700_000_000_000),
        ("2023-11-14T22:13:20+00:00", 1_700_000_000_000),
        ("2023-11-14T23:13:20.5+01:00", 1_700_000_000_500),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
    ],
)
def test_moments(text, expected):
    assert moment_ms(text) == expected


def test_without_a_zone_it_is_local_time(in_zone):
    in_zone("UTC-2")  # two hours ahead of UTC
    assert moment_ms("2023-11-15T00:13:20") == 1_700_000_000_000
    assert moment_ms("2023-11-15") == 1_700_000_000_000 - 800_000


def test_how_long_ago(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000 * 1_000_000)
    assert moment_ms("1h") == 1_700_000_000_000 - 3_600_000
    assert moment_ms("9000w") == 0


@pytest.mark.parametrize("text", ["", "yesterday", "2023-13-01", "-5", "1.5", "10" * 20])
def test_what_is_no_moment(text):
    with pytest.raises(argparse.ArgumentTypeError):
        moment_ms(text)
