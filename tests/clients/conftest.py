"""One broker for all tests of a worker that do not need another one for themselves."""

import logging

import pytest
from tests.clients.clients import CLIENTS
from tests.server.processes import Client

from distributedlog.testing import EmbeddedBroker

#: Groups here have members that are heard of often, so that what happens to them is noticed soon.
SETTINGS = {
    "group.min.session.timeout.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.assignment.interval.ms": "0",
}


@pytest.fixture(scope="session")
def broker():
    """In place of the plugin's, because of its settings."""
    with EmbeddedBroker(SETTINGS) as running:
        yield running


@pytest.fixture
def bootstrap(broker):
    return broker.bootstrap_servers


@pytest.fixture(params=CLIENTS)
def library(request):
    """Each client library in turn."""
    return CLIENTS[request.param]


@pytest.fixture
def ask(bootstrap):
    """Raw requests to the broker: what it has, not what a library makes of it."""
    with Client(int(bootstrap.rpartition(":")[2])) as client:
        yield client


@pytest.fixture(autouse=True)
def _quiet_libraries():
    """They log each connection that breaks as an error, and breaking them is what some tests are for."""
    for name in ("kafka", "aiokafka"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
