"""The scenarios of transactions against our broker; tests/peers runs them against Apache Kafka."""

import pytest
from tests.client.scenarios.transacting import *  # noqa: F403


@pytest.fixture
def servers(broker):
    return broker.bootstrap_servers
