"""``make sim SEEDS=…`` takes more seeds, DLOG_SEED another first one: a failure names its own."""

import os

import pytest
from tests.transactions.simulation import Simulation

FIRST = int(os.environ.get("DLOG_SEED", "1"))
SEEDS = int(os.environ.get("DLOG_SIM_SEEDS", "2000"))
STEPS = 100
PARTS = 20


@pytest.mark.sim
@pytest.mark.parametrize("part", range(PARTS))
def test_transactions_in_a_world_that_goes_wrong(part):
    for seed in range(FIRST + part, FIRST + SEEDS, PARTS):
        try:
            Simulation(seed).run(STEPS)
        except BaseException as error:
            error.add_note(f"seed {seed}: DLOG_SEED={seed} DLOG_SIM_SEEDS=1 shows it again")
            raise
