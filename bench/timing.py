"""How long a call takes beside its ceiling.

Both are measured in turns, so that what else the machine does hits both, and of several rounds the least
counts: noise only ever adds.
"""

import timeit
from collections.abc import Callable

from bench.figure import Figure

ROUND_SECONDS = 0.02
UNITS_PER_SECOND = {"ns": 1e9, "µs": 1e6, "ms": 1e3}
MILLION = 1e6

Call = Callable[[], object]


def duration(
    name: str,
    call: Call,
    unit: str,
    ceiling: Call,
    ceiling_is: str,
    quick: bool,
    *,
    bar: float | None = None,
    count: int = 1,
) -> Figure:
    """The time of one of the ``count`` things that a call does."""
    ours, bare = in_turns(call, ceiling, quick)
    scale = UNITS_PER_SECOND[unit] / count
    return Figure(
        name,
        ours * scale,
        unit,
        ceiling=bare * scale,
        ceiling_is=ceiling_is,
        bar=bar,
        higher_is_better=False,
    )


def records_rate(
    name: str,
    call: Call,
    records: int,
    ceiling: Call,
    ceiling_is: str,
    quick: bool,
    *,
    bar: float | None = None,
    rounds: int = 9,
) -> Figure:
    """Millions of records a second, where both calls work on ``records`` of them."""
    ours, bare = in_turns(call, ceiling, quick, rounds)
    return Figure(
        name,
        records / ours / MILLION,
        "M records/s",
        ceiling=records / bare / MILLION,
        ceiling_is=ceiling_is,
        bar=bar,
    )


def in_turns(ours: Call, bare: Call, quick: bool, rounds: int = 9) -> tuple[float, float]:
    """The least seconds of either call, each run once before so that nothing has to be compiled any more."""
    timers = [timeit.Timer(ours), timeit.Timer(bare)]
    numbers = [max(1, int(ROUND_SECONDS / max(_warm(timer), 1e-7))) for timer in timers]
    best = [float("inf"), float("inf")]
    for _ in range(1 if quick else rounds):
        for index, timer in enumerate(timers):
            number = 1 if quick else numbers[index]
            best[index] = min(best[index], timer.timeit(number) / number)
    return best[0], best[1]


def _warm(timer: timeit.Timer) -> float:
    timer.timeit(1)
    return timer.timeit(1)
