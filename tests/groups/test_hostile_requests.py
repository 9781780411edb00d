import random

import pytest
from tests.groups.clients import ClassicClient, subscription
from tests.groups.driver import Driver, api_key_of, image
from tests.wire.random_messages import random_message

from distributedlog.groups import GroupConfig
from distributedlog.groups.coordinator import _HANDLERS
from distributedlog.wire import APIS

REQUESTS = sorted(_HANDLERS, key=lambda request: request.__name__)
IDS = ["", "a", "orders", "m", "client-1", "client-2", "a-1", "a-2"]


def hostile_driver() -> Driver:
    return Driver(
        GroupConfig(
            group_min_session_timeout_ms=-(2**31),
            group_max_session_timeout_ms=2**31 - 1,
            group_initial_rebalance_delay_ms=10,
            group_consumer_assignment_interval_ms=0,
            offsets_retention_check_interval_ms=2**31,
        ),
        image(a=3, orders=2),
    )


def nonsense(chance: random.Random, request_class, version: int, group_ids: list[str]):
    """A random request, with some fields such that it gets further than the first check."""
    layout = APIS[api_key_of(request_class())].request(version).layout
    request = random_message(chance, layout)
    present = {field.name for field in layout.present}
    for name in ("group_id", "member_id", "group_instance_id", "instance_id", "protocol_type"):
        if name not in present or chance.random() < 0.2:
            continue
        value = chance.choice(group_ids if name == "group_id" else IDS)
        if name == "protocol_type":
            value = "consumer"
        elif "instance" in name and chance.random() < 0.7:
            value = None
        setattr(request, name, value)
    for name in ("member_epoch", "generation_id", "generation_id_or_member_epoch", "session_timeout_ms"):
        if name in present and chance.random() < 0.8:
            setattr(request, name, chance.choice([-2, -1, 0, 0, 1, 2, 3]))
    if "server_assignor" in present:
        request.server_assignor = chance.choice([None, "range", "uniform", "x"])
        if request.member_epoch == 0:
            request.topic_partitions = []
            request.rebalance_timeout_ms = chance.choice([1, 1_000, 2**31 - 1])
    for protocol in getattr(request, "protocols", ()):
        if chance.random() < 0.7:
            protocol.name = chance.choice(["range", "range", "x"])
            protocol.metadata = chance.choice([subscription("a"), subscription("a", owned={"a": [0]}), b"?"])
    return request


@pytest.mark.parametrize("seed", range(60))
def test_whatever_comes_there_is_a_reply_that_can_be_sent_and_a_log_that_can_be_replayed(seed):
    chance = random.Random(seed)
    d = hostile_driver()
    for _ in range(150):
        request_class = chance.choice(REQUESTS)
        api = APIS[api_key_of(request_class())]
        version = chance.choice(list(api.versions))
        request = nonsense(chance, request_class, version, ["a", "orders", ""])
        d.send(request, version, chance.choice(["a", "client"]))
        d.advance(chance.choice([0, 0, 5, 500]))
    d.assert_replayable()
    d.restart()
    d.advance(2**32)
    assert all(group.is_empty for group in d.groups.values())
    assert d.unanswered() == []
    d.assert_replayable()


def test_an_endless_client_id_makes_no_endless_member_id():
    d = hostile_driver()
    client = ClassicClient(d, "x" * 30_000, session_ms=10_000)
    assert len(client.take(client.join()).member_id) < 300
