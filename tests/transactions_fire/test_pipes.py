"""Consume, transform, produce: how far was read is committed with what was written, or not at all.

Whoever is killed, every record of the input has one visible outcome. librdkafka 2.16 may wait for ever in
``rd_kafka_send_offsets_to_transaction``, whatever its time limit, when its broker is killed in the middle of
it: with it only workers are killed here (and the broker in `test_bank`).
"""

import signal
from collections import Counter

import pytest
from tests.transactions_fire.administration import committed_offset
from tests.transactions_fire.faces import FACES
from tests.transactions_fire.fire import LENGTH, Fire
from tests.transactions_fire.worker import GROUP, IN, OUT, PARTITIONS

#: Into each partition, from one fault to the next.
RECORDS = 40
#: Members of a group share the partitions; a pipe of our client takes all.
NAMES = {"confluent": ("left", "right"), "ours": ("left",)}


class Source:
    """What is written to the input, piece by piece."""

    def __init__(self, fire):
        self._fire = fire
        self.values = []
        fire.create_topic(IN, PARTITIONS)
        fire.create_topic(OUT, PARTITIONS)

    def write_more(self):
        """And wait until some of it is worked off."""
        wanted = self._fire.committed() + 3
        for partition in range(PARTITIONS):
            values = [f"{partition}.{len(self.values) + number}" for number in range(RECORDS)]
            self._fire.fill(IN, partition, values)
            self.values += values
        self._fire.until(lambda: self._fire.committed() >= wanted)


def finish(fire, source):
    fire.until(lambda: is_all_read(fire))
    fire.stop_workers()
    fire.read_to_the_end()
    fire.check()
    assert Counter(value.split(">")[0] for value in fire.visible(OUT)) == Counter(source.values)


@pytest.mark.parametrize("library", FACES)
def test_pipes_over_kills_of_the_broker_and_of_those_who_work(library, tmp_path):
    with Fire(tmp_path) as fire:
        source = Source(fire)
        workers = {name: fire.work("pipe", library, name) for name in NAMES[library]}
        for kill in range(4 * LENGTH):
            source.write_more()
            if kill % 2 and library == "ours":
                fire.kill_broker()
                fire.start_broker()
            else:
                workers.pop("left").kill()
                workers["left"] = fire.work("pipe", library, "left")
        finish(fire, source)


@pytest.mark.parametrize("library", FACES)
def test_a_pipe_that_was_paused_finds_its_work_done(library, tmp_path):
    with Fire(tmp_path) as fire:
        source = Source(fire)
        zombie = fire.work("pipe", library, "left")
        source.write_more()
        zombie.send_signal(signal.SIGSTOP)
        fire.work("pipe", library, "left" if library == "ours" else "right")
        source.write_more()
        zombie.send_signal(signal.SIGCONT)
        finish(fire, source)


def is_all_read(fire):
    with fire.client() as client:
        told = [
            committed_offset(client, GROUP, IN, partition, require_stable=False)
            for partition in range(PARTITIONS)
        ]
    return told == [f"{count}" for count in fire.counts(IN)]
