"""KIP-848: the coordinator assigns. On a cluster whose heartbeats are quick, or it takes long."""

import contextlib
import time

import pytest
from tests.client.scenarios.consuming import PATIENCE, consumer, numbered, wait_until, write
from tests.client.scenarios.reading import create_topic

from distributedlog.client.errors import BrokerError

NEWER = {"group_protocol": "consumer"}


@pytest.mark.parametrize("assignor", [None, "uniform", "range"])
def test_members_of_the_newer_protocol_share_and_take_over(servers, topic, assignor):
    create_topic(servers, topic, 4)
    options = {"group_id": topic, "group_remote_assignor": assignor, **NEWER}
    told = []
    with contextlib.ExitStack() as stack:
        one = stack.enter_context(consumer(servers, **options))
        one.subscribe(topic, on_revoked=lambda partitions: told.append(len(partitions)))
        wait_until(lambda: len(one.assignment()) == 4, one)
        two = stack.enter_context(consumer(servers, **options))
        two.subscribe(topic)
        wait_until(lambda: len(one.assignment()) == len(two.assignment()) == 2, one, two)
        assert told == [2], "only what the other one gets is given up"
        assert not one.assignment() & two.assignment()
        write(servers, topic, numbered(40))
        seen = []
        deadline = time.monotonic() + PATIENCE
        while len(seen) < 40:
            assert time.monotonic() < deadline
            seen += one.poll(0.05) + two.poll(0.05)
        two.close()
        wait_until(lambda: len(one.assignment()) == 4, one)
        assert one.poll(0.2) == [], "who leaves commits what it has handed out"


def test_a_pattern_is_looked_up_by_the_coordinator(servers, topic):
    create_topic(servers, f"{topic}-yes")
    create_topic(servers, f"{topic}-no")
    with consumer(servers, group_id=topic, **NEWER) as reader:
        reader.subscribe(pattern=f"{topic}-ye.")
        wait_until(lambda: {place.topic for place in reader.assignment()} == {f"{topic}-yes"}, reader)


def test_a_static_member_of_the_newer_protocol_keeps_its_partitions(servers, topic):
    create_topic(servers, topic, 2)
    with consumer(servers, group_id=topic, group_instance_id="one", **NEWER) as one:
        one.subscribe(topic)
        with consumer(servers, group_id=topic, group_instance_id="two", **NEWER) as two:
            two.subscribe(topic)
            wait_until(lambda: len(one.assignment()) == len(two.assignment()) == 1, one, two)
            had = two.assignment()
        with consumer(servers, group_id=topic, group_instance_id="two", **NEWER) as two:
            two.subscribe(topic)
            wait_until(lambda: two.assignment() == had, one, two)
            assert len(one.assignment()) == 1


def test_an_assignor_that_the_coordinator_does_not_know(servers, topic):
    with consumer(servers, group_id=topic, group_remote_assignor="best", **NEWER) as reader:
        reader.subscribe(topic)
        with pytest.raises(BrokerError, match="UNSUPPORTED_ASSIGNOR"):
            reader.poll(PATIENCE)


def test_who_does_not_poll_is_away_until_it_does(servers, topic):
    create_topic(servers, topic, 2)
    lost = []
    options = {"group_id": topic, **NEWER}
    with (
        consumer(servers, max_poll_interval_ms=500, **options) as sleepy,
        consumer(servers, **options) as awake,
    ):
        sleepy.subscribe(topic, on_lost=lost.append)
        wait_until(lambda: len(sleepy.assignment()) == 2, sleepy)
        awake.subscribe(topic)
        wait_until(lambda: len(awake.assignment()) == 2, awake)
        wait_until(lambda: len(awake.assignment()) == len(sleepy.assignment()) == 1, sleepy, awake)
        assert len(lost) == 1
