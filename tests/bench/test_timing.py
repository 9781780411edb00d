"""Measuring a call and its ceiling."""

from bench import timing


def test_calls_are_measured_in_turns_and_after_one_another():
    calls = []
    timing.in_turns(lambda: calls.append("ours"), lambda: calls.append("bare"), quick=True)
    assert calls == ["ours"] * 2 + ["bare"] * 2 + ["ours", "bare"]


def test_a_duration_is_for_one_of_many(monkeypatch):
    monkeypatch.setattr(timing, "in_turns", lambda ours, bare, quick: (0.004, 0.001))
    figure = timing.duration("x", print, "µs", print, "nothing", quick=True, bar=50, count=100)
    assert (figure.value, figure.ceiling, figure.ratio, figure.met) == (40, 10, 4, True)


def test_a_rate_is_in_millions(monkeypatch):
    monkeypatch.setattr(timing, "in_turns", lambda ours, bare, quick, rounds: (0.5, 0.25))
    figure = timing.records_rate("x", print, 2_000_000, print, "nothing", quick=True, bar=5)
    assert (figure.value, figure.ceiling, figure.ratio, figure.met) == (4, 8, 0.5, False)
