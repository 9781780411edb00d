import pytest
from tests.broker.broker_stage import BrokerStage
from tests.broker.stage import Stage


@pytest.fixture
def stage(tmp_path):
    made = Stage(tmp_path / "data")
    yield made
    made.directory.abandon()


@pytest.fixture
def served(tmp_path):
    """A whole broker with its default settings."""
    made = BrokerStage(tmp_path / "served")
    yield made
    made.broker.directory.abandon()
