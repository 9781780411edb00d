"""What it costs to wait for the disk, alone and together: many waiting appends share one fsync."""

from threading import Thread
from typing import Final

from distributedlog import Log
from distributedlog.demo.figures import Stopwatch
from distributedlog.demo.orders import VALUE_BYTES, order
from distributedlog.demo.stage import Advance, Stage

TITLE = "Append one at a time, and wait for the disk or not"
APPENDS_ALONE: Final = 300
THREADS: Final = 32
APPENDS_OF_THREAD: Final = 100
APPENDS_WITHOUT_WAITING: Final = 100_000
STEP: Final = 100


def play(stage: Stage) -> None:
    together = THREADS * APPENDS_OF_THREAD
    without = min(stage.records_count, APPENDS_WITHOUT_WAITING)
    waiting_alone, waiting_together, not_waiting = Stopwatch(), Stopwatch(), Stopwatch()
    path = stage.directory / "one-by-one"
    with stage.progress(APPENDS_ALONE + together + without) as advance:
        with Log(path, flush="ack") as log:
            with waiting_alone:
                append_in_steps(log, range(APPENDS_ALONE), advance)
            with waiting_together:
                append_from_threads(log, APPENDS_ALONE, advance)
        with Log(path, flush="os") as log, not_waiting:
            first = APPENDS_ALONE + together
            append_in_steps(log, range(first, first + without), advance)
    with Log(path) as log:
        values = [record.value for record in log.read()]
    stage.measured("append one, flush=os", without, not_waiting.seconds, without * VALUE_BYTES)
    stage.measured("append one, flush=ack", APPENDS_ALONE, waiting_alone.seconds)
    stage.measured(f"the same from {THREADS} threads", together, waiting_together.seconds)
    count = APPENDS_ALONE + together + without
    due = {order(number).value for number in range(count)}
    stage.claim(
        len(values) == count and set(values) == due,
        f"all {count:,} are in the log, each once",
        f"{len(values):,} are in the log instead of {count:,}, {len(due - set(values)):,} of them missing",
    )
    gain = (together / waiting_together.seconds) / (APPENDS_ALONE / waiting_alone.seconds)
    stage.say(
        f"flush=ack, the default: survives a power cut. {THREADS} threads share each fsync and append "
        f"{gain:.0f} times as fast as one. flush=os: survives a kill only"
    )


def append_in_steps(log: Log, numbers: range, advance: Advance) -> None:
    for first in range(0, len(numbers), STEP):
        step = numbers[first : first + STEP]
        for number in step:
            log.append(value=order(number).value)
        advance(len(step))


def append_from_threads(log: Log, first: int, advance: Advance) -> None:
    """A thread that fails leaves records missing, which is noticed when they are read."""
    threads = [
        Thread(
            target=append_in_steps,
            args=(log, range(number, number + APPENDS_OF_THREAD), advance),
        )
        for number in range(first, first + THREADS * APPENDS_OF_THREAD, APPENDS_OF_THREAD)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
