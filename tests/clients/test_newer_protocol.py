"""Our consumer by KIP-848 against our broker; tests/peers does it against Apache Kafka."""

import pytest
from tests.client.scenarios.sharing import *  # noqa: F403


@pytest.fixture
def servers(bootstrap):
    return bootstrap
