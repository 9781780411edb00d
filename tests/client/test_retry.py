"""Waiting before the next try."""

from distributedlog.client.retry import Backoff


def test_delays_double_up_to_the_limit():
    backoff = Backoff(50, 1000, lambda: 0.5)
    assert [backoff.next_ms() for _ in range(7)] == [50, 100, 200, 400, 800, 1000, 1000]


def test_chance_shifts_a_delay_by_a_fifth_at_most():
    assert Backoff(100, 1000, lambda: 0.0).next_ms() == 80
    assert Backoff(100, 1000, lambda: 1.0).next_ms() == 120
