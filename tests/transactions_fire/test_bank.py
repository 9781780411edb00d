"""Transfers between accounts in several partitions, a part of them aborted, while everything goes wrong.

What a reader of committed data sees is checked by `tests/checkers`; and in every transfer that he sees no
money came or went. DLOG_FIRE_LENGTH makes the runs so many times longer, DLOG_SEED others.
"""

import signal
from collections import Counter

import pytest
from tests.transactions_fire.faces import FACES
from tests.transactions_fire.fire import LENGTH, Fire
from tests.transactions_fire.worker import BANK, FENCED, PARTITIONS

from fault_proxy import Fault

ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT, PRODUCE, INIT = 24, 25, 26, 28, 0, 22
#: All that a producer asks; its connection is cut, and what it sent arrives once, twice, late or never.
TRANSACTIONAL = (PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT)
CUTS = (Fault.LOSE_REQUEST, Fault.HALF_REQUEST, Fault.LOSE_RESPONSE, Fault.HALF_RESPONSE)


def check_balances(fire):
    """Of every transaction that is visible the amounts are zero, all in all and account by account."""
    sums, balances = Counter(), Counter()
    for value in fire.visible(BANK):
        step, account, amount = value.split(":")
        sums[step] += int(amount)
        balances[account] += int(amount)
    assert sums, "nothing was committed"
    assert not any(sums.values()), {step: amount for step, amount in sums.items() if amount}
    assert sum(balances.values()) == 0


def finish(fire):
    fire.stop_workers()
    fire.read_to_the_end()
    fire.check()
    check_balances(fire)


@pytest.mark.parametrize("library", FACES)
def test_transfers_over_kills_of_the_broker_and_of_those_who_write(library, tmp_path):
    with Fire(tmp_path) as fire:
        fire.create_topic(BANK, PARTITIONS)
        workers = [fire.work("transfer", library, name) for name in ("alice", "bob")]
        for kill in range(3 * LENGTH):
            fire.until_committed(10)
            if kill % 3 == 1:
                workers[1].kill()
                workers[1] = fire.work("transfer", library, "bob")
            else:
                fire.kill_broker()
                fire.start_broker()
        fire.until_committed(5, workers[0])
        fire.until_committed(5, workers[1])
        finish(fire)


@pytest.mark.parametrize("library", FACES)
def test_transfers_over_a_network_that_cuts_connections(library, tmp_path):
    faults = {"faults": CUTS, "share": 0.05, "api_keys": TRANSACTIONAL}
    with Fire(tmp_path, **faults) as fire:
        fire.create_topic(BANK, PARTITIONS)
        # librdkafka now and then fences itself: it ends a transaction with the epoch that it just gave up.
        worker = fire.work("transfer", library, "alice", is_replaced=library == "confluent")
        fire.until_committed(30 * LENGTH, worker)
        fire.until(lambda: len(fire.proxy.met) >= 5 * LENGTH)
        finish(fire)


@pytest.mark.parametrize("library", FACES)
def test_zombies_that_are_paused_and_woken(library, tmp_path):
    """Two processes with one transactional id: who wakes up finds that another has taken over."""
    with Fire(tmp_path) as fire:
        fire.create_topic(BANK, PARTITIONS)
        holder = fire.work("transfer", library, "alice")
        for _ in range(2 * LENGTH):
            fire.until_committed(5, holder)
            holder.send_signal(signal.SIGSTOP)
            heir = fire.work("transfer", library, "alice")
            fire.until_committed(5, heir)
            holder.send_signal(signal.SIGCONT)
            fire.until(lambda holder=holder: holder.poll() is not None)
            assert holder.returncode == FENCED
            holder = heir
        fire.until_committed(5, holder)
        finish(fire)
