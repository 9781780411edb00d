"""The scenarios of tables against our broker; tests/peers runs them against Apache Kafka."""

import pytest
from tests.client.scenarios.sending_tables import *  # noqa: F403


@pytest.fixture
def servers(broker):
    return broker.bootstrap_servers
