"""Reading everything back, as Python objects, and comparing each with what was written."""

from itertools import islice
from typing import Final

from distributedlog import LogReader
from distributedlog.demo.figures import Stopwatch
from distributedlog.demo.orders import VALUE_BYTES, orders_as_read
from distributedlog.demo.stage import Stage

TITLE = "Read them back, one Python object each"
RECORDS_IN_STEP: Final = 1_000


def play(stage: Stage) -> None:
    count = stage.records_count
    opening, reading = Stopwatch(), Stopwatch()
    seen = wrong = 0
    with opening:
        reader = LogReader(stage.orders_path)
    with reader, stage.progress(count) as advance:
        records = reader.read()
        while True:
            with reading:
                chunk = list(islice(records, RECORDS_IN_STEP))
            if not chunk:
                break
            expected = orders_as_read(range(seen, seen + len(chunk)))
            if chunk != expected:
                wrong += sum(got != due for got, due in zip(chunk, expected, strict=True))
            seen += len(chunk)
            advance(len(chunk))
    stage.measured("read as Python objects", seen, reading.seconds, seen * VALUE_BYTES)
    stage.claim(
        seen == count and not wrong,
        f"all {seen:,} are as written, in order: offset, timestamp, key and value",
        f"{wrong:,} of {seen:,} records read are not as written, and {count:,} were",
    )
    stage.say(f"a LogReader, as other processes use it; opening it took {stage.duration(opening.seconds)}")
