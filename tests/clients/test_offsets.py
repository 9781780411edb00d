"""Committed offsets of real clients: metadata, restarts of the broker, and going back in time."""

import gc
import time

import pytest
from tests.broker_fire.asking import create_topic
from tests.clients.clients import CLIENTS
from tests.clients.conftest import SETTINGS
from tests.clients.face import Record, until
from tests.clients.group_kinds import Kind, go_on, membership_of, of_every_client, share_out
from tests.clients.group_log import generations_of
from tests.server.processes import Client

from distributedlog.testing import EmbeddedBroker

# kafka-python leaves the sockets of connections that were refused to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")

NOW_MS = time.time_ns() // 1_000_000 - 1_000
PLAIN = {name: Kind(name, "range") for name in CLIENTS}


@pytest.fixture
def own_broker():
    """One that may be stopped."""
    with EmbeddedBroker(SETTINGS) as broker:
        yield broker
    gc.collect()  # while the warnings about it are ignored


def ask_of(broker):
    return Client(int(broker.bootstrap_servers.rpartition(":")[2]))


def records(name, count=5):
    return [Record(b"%s-%d" % (name, number), timestamp_ms=NOW_MS + number) for number in range(count)]


@of_every_client
def test_offsets_and_their_metadata_are_there_after_a_restart_for_every_library(kind, own_broker, topic):
    bootstrap = own_broker.bootstrap_servers
    with ask_of(own_broker) as ask:
        create_topic(ask, topic, 2)
    with membership_of(bootstrap, kind, kind.membership(topic, topic)) as writer:
        share_out({(topic, 0), (topic, 1)}, writer)
        assert writer.committed(topic, 0) is None
        writer.commit({(topic, 0): 3}, "by the way")
        assert writer.committed(topic, 0) == (3, "by the way")
    own_broker.restart()
    for reader_kind in PLAIN.values():
        membership = reader_kind.membership(topic, topic)
        with membership_of(bootstrap, reader_kind, membership) as reader:
            share_out({(topic, 0), (topic, 1)}, reader)
            offset, metadata = reader.committed(topic, 0)
            # confluent-kafka commits the zero at the end of its string too.
            assert (offset, metadata.removesuffix("\0")) == (3, "by the way")
            assert reader.committed(topic, 1) is None


@of_every_client
def test_a_running_consumer_goes_on_over_a_restart_without_a_rebalance(kind, own_broker, topic):
    bootstrap = own_broker.bootstrap_servers
    with ask_of(own_broker) as ask:
        create_topic(ask, topic)
    writer = CLIENTS["confluent-kafka"]
    before, after = records(b"before"), records(b"after")
    writer.produce(bootstrap, topic, before)
    with membership_of(bootstrap, kind, kind.membership(topic, topic)) as member:
        until(lambda: len(member.records) == 5, member)
        member.commit({(topic, 0): 2})
        own_broker.restart()
        assert writer.produce(bootstrap, topic, after) == [5, 6, 7, 8, 9]
        until(lambda: len(member.records) == 10, member)
        go_on(member)
        assert member.values() == [record.value for record in before + after]
        assert member.assignments == 1
        member.commit({(topic, 0): 10})
        with ask_of(own_broker) as ask:
            assert generations_of(ask, topic) == [1]


@pytest.mark.parametrize("name", CLIENTS)
def test_a_group_is_set_back_to_a_time(name, bootstrap, ask, topic):
    kind, library = PLAIN[name], CLIENTS[name]
    create_topic(ask, topic)
    library.produce(bootstrap, topic, records(b"v", 10))
    membership = kind.membership(topic, topic)
    with membership_of(bootstrap, kind, membership) as member:
        until(lambda: len(member.records) == 10, member)
        member.commit({(topic, 0): 10})
        member.commit({(topic, 0): library.offset_for_time(bootstrap, topic, NOW_MS + 6)}, "back again")
    with membership_of(bootstrap, kind, membership) as member:
        until(lambda: len(member.records) == 4, member)
        assert member.values() == [b"v-6", b"v-7", b"v-8", b"v-9"]
