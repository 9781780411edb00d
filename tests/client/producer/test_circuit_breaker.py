import pytest

from distributedlog.client.errors import CircuitOpen, InvalidOption
from distributedlog.client.producer.circuit_breaker import CircuitBreaker, CircuitState


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breaker(clock):
    return CircuitBreaker(failures_max=3, reset_timeout_ms=1000, probes_max=2, clock=clock)


def test_it_opens_after_so_many_failures_in_a_row(breaker):
    for _ in range(2):
        breaker.failed()
    breaker.succeeded()
    for _ in range(2):
        breaker.failed()
    breaker.check()
    breaker.failed()
    assert breaker.state is CircuitState.OPEN
    with pytest.raises(CircuitOpen, match="3 requests failed one after another; sends are tried again 1 s"):
        breaker.check()


def test_half_open_lets_some_through_and_their_fate_decides(breaker, clock):
    for _ in range(3):
        breaker.failed()
    clock.now = 1.0
    assert breaker.state is CircuitState.HALF_OPEN
    breaker.check()
    breaker.check()
    with pytest.raises(CircuitOpen):
        breaker.check()
    breaker.failed()
    assert breaker.state is CircuitState.OPEN
    clock.now = 2.0
    breaker.check()
    breaker.succeeded()
    assert breaker.state is CircuitState.CLOSED
    for _ in range(5):
        breaker.check()


def test_bounds_are_checked():
    with pytest.raises(InvalidOption):
        CircuitBreaker(failures_max=0)
