"""Our consumer by KIP-848 against our broker, whose heartbeats are quick here; tests/peers has Kafka."""

import pytest
from tests.client.scenarios.sharing import *  # noqa: F403


@pytest.fixture
def servers(bootstrap):
    return bootstrap
