"""Tests against other implementations: `make peers` installs those and runs these."""

import importlib.util

import pytest

import kafka_peer


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.peer)


@pytest.fixture(scope="session", autouse=True)
def peers():
    """Without its peers a peer test proves nothing, so it fails and says what is missing."""
    try:
        kafka_peer.require()
    except kafka_peer.PeerMissing as missing:
        pytest.exit(f"{missing}", returncode=1)
    if importlib.util.find_spec("confluent_kafka") is None:
        pytest.exit("confluent-kafka is not installed; `make peers` installs it", returncode=1)
