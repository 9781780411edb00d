"""Consume, transform, produce: how far was read is committed with what was written, or not at all.

Whoever is killed, every record of the input has one visible outcome.
"""

import signal
from collections import Counter

import pytest
from tests.transactions_fire.administration import committed_offset
from tests.transactions_fire.faces import FACES
from tests.transactions_fire.fire import LENGTH, Fire
from tests.transactions_fire.worker import GROUP, IN, OUT, PARTITIONS

RECORDS = 150 * LENGTH
#: Members of a group share the partitions; a pipe of our client takes all.
NAMES = {"confluent": ("left", "right"), "ours": ("left",)}


@pytest.mark.parametrize("library", FACES)
def test_pipes_over_kills_of_the_broker_and_of_those_who_work(library, tmp_path):
    with Fire(tmp_path) as fire:
        fire.create_topic(IN, PARTITIONS)
        fire.create_topic(OUT, PARTITIONS)
        values = [f"{partition}.{number}" for partition in range(PARTITIONS) for number in range(RECORDS)]
        for partition in range(PARTITIONS):
            fire.fill(IN, partition, values[partition * RECORDS : (partition + 1) * RECORDS])
        workers = {name: fire.work("pipe", library, name) for name in NAMES[library]}
        for kill in range(4 * LENGTH):
            fire.until_committed(3)
            if kill % 2:
                fire.kill_broker()
                fire.start_broker()
            else:
                worker = workers.pop("left")
                worker.kill()
                workers["left"] = fire.work("pipe", library, "left")
        fire.until(lambda: is_all_read(fire))
        fire.stop_workers()
        fire.read_to_the_end()
        fire.check()
        assert Counter(value.split(">")[0] for value in fire.visible(OUT)) == Counter(values)


@pytest.mark.parametrize("library", FACES)
def test_a_pipe_that_was_paused_finds_its_work_done(library, tmp_path):
    with Fire(tmp_path) as fire:
        fire.create_topic(IN, PARTITIONS)
        fire.create_topic(OUT, PARTITIONS)
        values = [f"{partition}.{number}" for partition in range(PARTITIONS) for number in range(60)]
        for partition in range(PARTITIONS):
            fire.fill(IN, partition, values[partition * 60 : (partition + 1) * 60])
        zombie = fire.work("pipe", library, "left")
        fire.until_committed(2)
        zombie.send_signal(signal.SIGSTOP)
        heir = fire.work("pipe", library, "left" if library == "ours" else "right")
        fire.until_committed(2, heir)
        zombie.send_signal(signal.SIGCONT)
        fire.until(lambda: is_all_read(fire))
        fire.stop_workers()
        fire.read_to_the_end()
        fire.check()
        assert Counter(value.split(">")[0] for value in fire.visible(OUT)) == Counter(values)


def is_all_read(fire):
    with fire.client() as client:
        told = [
            committed_offset(client, GROUP, IN, partition, require_stable=False)
            for partition in range(PARTITIONS)
        ]
    return told == [f"{count}" for count in fire.counts(IN)]
