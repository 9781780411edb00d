"""What all tests share: Hypothesis profiles and the size of the fuzz runs."""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

# The examples of `make test` are the same on every run and every machine, so a failure there is a
# failure everywhere. `HYPOTHESIS_PROFILE=explore` looks for new ones, as many as DLOG_EXAMPLES says.
settings.register_profile(
    "default", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "explore",
    deadline=None,
    print_blob=True,
    max_examples=int(os.environ.get("DLOG_EXAMPLES", "2000")),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def fuzz_cases():
    """How many mutated inputs a fuzz test tries, given the number it tries in `make test`."""

    def cases(normally):
        return int(os.environ.get("DLOG_FUZZ_CASES", normally))

    return cases
