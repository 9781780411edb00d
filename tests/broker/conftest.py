import pytest
from tests.broker.stage import Stage


@pytest.fixture
def stage(tmp_path):
    made = Stage(tmp_path / "data")
    yield made
    made.directory.abandon()
