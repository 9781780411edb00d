"""The fixtures `broker` and `topic`, which pytest finds by the entry point ``pytest11``.

Loaded by every run of pytest where distributedlog is installed, so it imports nothing until a test asks.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from distributedlog.testing.embedded import EmbeddedBroker

TOPIC_NAME_LENGTH_MAX: Final = 200
_numbers: Final = count(1)


@pytest.fixture(scope="session")
def broker_config() -> Mapping[str, str]:
    """Settings of the session's broker, by Kafka's names. Override it in conftest.py to change some."""
    return {}


@pytest.fixture(scope="session")
def broker(broker_config: Mapping[str, str]) -> Iterator["EmbeddedBroker"]:
    """A real broker for the whole run: ``broker.bootstrap_servers`` is its address."""
    from distributedlog.testing.embedded import EmbeddedBroker  # noqa: PLC0415

    with EmbeddedBroker(broker_config) as running:
        yield running


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test has. The topic is made by the first client that uses it."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name).strip("-.")
    return f"{name[:TOPIC_NAME_LENGTH_MAX]}-{next(_numbers)}"
