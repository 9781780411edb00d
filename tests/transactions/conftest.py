import pytest
from tests.transactions.clients import Producer
from tests.transactions.driver import Driver


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture
def producer(driver):
    """A producer of version 2 that has its id."""
    made = Producer(driver)
    assert made.init() == 0
    return made


@pytest.fixture
def old_producer(driver):
    """One of version 1."""
    made = Producer(driver, version=1)
    assert made.init() == 0
    return made
