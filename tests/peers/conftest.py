"""Tests against other implementations: `make peers` installs those and runs these."""

import pytest
from tests.peers import programs

import kafka_peer


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.peer)


@pytest.fixture(scope="session", autouse=True)
def peers():
    """Without its peers a peer test proves nothing, so it fails and says what is missing."""
    try:
        kafka_peer.require()
        programs.require()
    except kafka_peer.PeerMissing as missing:
        pytest.exit(f"{missing}", returncode=1)


def pytest_terminal_summary(terminalreporter):
    for program in programs.LEFT_OUT:
        terminalreporter.line(f"{program.name}: LEFT OUT, this machine has no {program.tool}")
