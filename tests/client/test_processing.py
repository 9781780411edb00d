"""Consuming in transactions, against our broker; tests/peers does it against Apache Kafka."""

import pytest
from tests.client.scenarios.processing import *  # noqa: F403


@pytest.fixture
def servers(broker):
    return broker.bootstrap_servers
