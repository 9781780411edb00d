import random

import pytest
from tests.groups.clients import ClassicClient, ConsumerClient, stable_group
from tests.groups.driver import Driver, image
from tests.groups.simulation import Simulation

from distributedlog.groups import GroupConfig


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kinds", ["c", "n", "cn"], ids=["classic", "consumer", "mixed"])
def test_clients_in_a_world_that_goes_wrong(kinds, seed):
    Simulation(seed, kinds, interval_ms=1_000 if seed % 2 else 0).run(150)


@pytest.mark.parametrize("seed", range(30))
def test_changes_that_come_together_make_exactly_one_classic_rebalance(seed):
    chance = random.Random(seed)
    driver = Driver(GroupConfig(), image(t=8))
    members = [ClassicClient(driver, f"m{n}", session_ms=60_000) for n in range(chance.randint(2, 6))]
    stable_group(driver, *members)
    group = driver.groups["g"]
    staying = members[: chance.randint(1, len(members))]
    newcomers = [ClassicClient(driver, f"n{n}", session_ms=60_000) for n in range(chance.randint(0, 3))]
    changes = [("leave", m) for m in members if m not in staying] + [("join", n) for n in newcomers]
    chance.shuffle(changes)
    tokens = []
    for what, client in changes:
        if what == "leave":
            client.leave()
        else:
            tokens.append(client.enter())
    for client in staying:
        client.heartbeat()
        tokens.append(client.join())
    if not changes:
        assert group.generation == 2, "the leader joined again"
    assert group.generation == 2
    assert {driver.reply(token).generation_id for token in tokens} == {2}
    driver.advance(20_000)
    assert group.generation == 2


@pytest.mark.parametrize("seed", range(30))
def test_each_change_makes_exactly_one_epoch(seed):
    chance = random.Random(seed)
    driver = Driver(GroupConfig(group_consumer_assignment_interval_ms=0), image(t=8, u=3))
    members: list[ConsumerClient] = []
    epoch = 0
    for step in range(25):
        what = chance.choice(["join", "leave", "subscribe", "grow", "nothing"])
        if what == "join":
            members.append(ConsumerClient(driver, f"m{step}"))
            members[-1].beat()
            epoch += 1
        elif members and what == "leave":
            members.pop(chance.randrange(len(members))).leave()
            epoch += 1
        elif members and what == "subscribe":
            member = chance.choice(members)
            topics = chance.choice([("t",), ("u",), ("t", "u")])
            epoch += set(topics) != set(member.topics)
            member.topics = topics
        elif what == "grow" and any("t" in member.topics for member in members):
            driver.change_topics(image(step + 2, t=9 + step, u=3))
            epoch += 1
        for _ in range(3):
            for member in members:
                member.beat()
        if members:
            group = driver.groups["g"]
            assert (group.epoch, group.assignment_epoch, group.state) == (epoch, epoch, "Stable")
    driver.assert_replayable()
