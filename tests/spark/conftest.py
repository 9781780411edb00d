"""What the tests of Spark share: one session per process, and one broker.

Starting Java takes seconds, so there is one local session for all tests of a process, and every test has
topics and checkpoints of its own. Java's threads and sockets outlive what made them in Python.
"""

import socket

import pytest
from tests.spark.filling import Source, Topics

from distributedlog.testing import EmbeddedBroker
from spark_session import session_of_tests


@pytest.fixture(scope="session")
def spark():
    with session_of_tests() as session:
        yield session


@pytest.fixture(scope="session")
def spark_broker():
    """A broker for all tests that do not stop it; topics are made when first written to."""
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def bootstrap(spark_broker):
    return spark_broker.bootstrap_servers


@pytest.fixture
def topic(request):
    """A name that no other test uses."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    return f"{request.module.__name__.rpartition('.')[2]}-{name}"[:200]


@pytest.fixture
def topics(bootstrap):
    return Topics(bootstrap)


@pytest.fixture
def source(spark, bootstrap):
    return Source(spark, bootstrap)


@pytest.fixture
def free_address():
    """An address at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"
