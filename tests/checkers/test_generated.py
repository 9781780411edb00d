"""The checker on generated histories: silent on right ones, and it finds what is put into them.

DLOG_CHECKER_SEEDS sets how many histories there are.
"""

import os
from functools import cache

import pytest
from tests.checkers.check import check, report
from tests.checkers.findings import Anomaly
from tests.checkers.planting import PLANTED, Plot
from tests.checkers.right_histories import right_history

SEEDS = int(os.environ.get("DLOG_CHECKER_SEEDS", "20"))
#: In how many of the histories there must be a place for a fault.
PLACES_MIN = SEEDS // 5


def test_right_histories_are_right():
    for seed in range(SEEDS):
        findings = check(right_history(seed))
        assert not findings, f"seed {seed}:\n{report(findings)}"


@cache
def short_history(seed):
    return right_history(seed, size=12)


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant):
    planted = 0
    for seed in range(SEEDS):
        history = plant(Plot(short_history(seed), seed))
        if history:
            planted += 1
            found = {finding.anomaly for finding in check(history)}
            assert PLANTED[plant] in found, f"seed {seed}: {plant.__name__} was taken for {found or 'right'}"
    assert planted > PLACES_MIN


def test_each_anomaly_is_planted():
    assert set(PLANTED.values()) == set(Anomaly)
