"""What a figure's bar judges, and what its ceiling says."""

import pytest
from bench.figure import Figure


def figure(**fields):
    return Figure("a figure", 6.0, "units", **fields)


def with_ceiling(ceiling, **fields):
    return figure(ceiling=ceiling, ceiling_is="the bare thing", **fields)


@pytest.mark.parametrize(
    ("bar", "higher_is_better", "met", "times_bar"),
    [
        (3, True, True, 2),
        (6, True, True, 1),
        (12, True, False, 0.5),
        (3, False, False, 0.5),
        (12, False, True, 2),
    ],
)
def test_a_bar_judges_the_value_and_leaves_the_ceiling_out(bar, higher_is_better, met, times_bar):
    for ceiling in (0.001, 1000.0):
        judged = with_ceiling(ceiling, bar=bar, higher_is_better=higher_is_better)
        assert (judged.met, judged.times_bar) == (met, times_bar)
        assert judged.ratio == 6 / ceiling
    assert figure(bar=bar, higher_is_better=higher_is_better).met is met


@pytest.mark.parametrize(
    ("ceiling", "ratio_bar", "higher_is_better", "met", "times_bar"),
    [
        (8, 0.5, True, True, 1.5),
        (8, 0.75, True, True, 1),
        (12, 1, True, False, 0.5),
        (3, 4, False, True, 2),
        (3, 1, False, False, 0.5),
    ],
)
def test_a_ratio_bar_judges_the_ratio(ceiling, ratio_bar, higher_is_better, met, times_bar):
    judged = with_ceiling(ceiling, ratio_bar=ratio_bar, higher_is_better=higher_is_better)
    assert (judged.met, judged.times_bar) == (met, times_bar)


def test_a_figure_without_a_bar_is_not_judged():
    assert with_ceiling(3).met is None
    assert figure().met is None
    assert figure().ratio is None
    assert figure().share_of_ceiling is None


def test_the_share_of_the_ceiling_turns_where_lower_is_better():
    assert with_ceiling(12).share_of_ceiling == 0.5
    assert with_ceiling(3, higher_is_better=False).ratio == 2
    assert with_ceiling(3, higher_is_better=False).share_of_ceiling == 0.5


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"ceiling": 3.0}, "belong together"),
        ({"ceiling_is": "the bare thing"}, "belong together"),
        ({"ratio_bar": 0.5}, "no ceiling"),
        ({"ceiling": 3.0, "ceiling_is": "x", "bar": 1.0, "ratio_bar": 0.5}, "two bars"),
    ],
)
def test_a_figure_that_says_no_clear_thing_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        figure(**fields)
