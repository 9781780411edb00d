"""Filling a log, in batches of the size that Kafka's producers send."""

from typing import Final

from distributedlog import Log
from distributedlog.demo.figures import Stopwatch
from distributedlog.demo.orders import VALUE_BYTES, orders
from distributedlog.demo.stage import Stage

TITLE = "Append {records} records of 100 bytes"
#: Sixteen kilobytes or so: a look-up decodes one batch, so larger ones would make it slower.
RECORDS_IN_BATCH: Final = 160
RECORDS_IN_STEP: Final = 62 * RECORDS_IN_BATCH


def play(stage: Stage) -> None:
    count = stage.records_count
    watch = Stopwatch()
    gaps = 0
    with Log(stage.orders_path, flush="interval") as log, stage.progress(count) as advance:
        for first in range(0, count, RECORDS_IN_STEP):
            entries = orders(range(first, min(first + RECORDS_IN_STEP, count)))
            batches = [entries[at : at + RECORDS_IN_BATCH] for at in range(0, len(entries), RECORDS_IN_BATCH)]
            with watch:
                ranges = [log.append_many(batch) for batch in batches]
            expected = first
            for got in ranges:
                gaps += got.start != expected
                expected = got.stop
            advance(len(entries))
        with watch:
            log.flush()
        end_offset = log.end_offset
    stage.measured(f"append, {RECORDS_IN_BATCH} at a time", count, watch.seconds, count * VALUE_BYTES)
    stage.claim(
        end_offset == count and not gaps,
        f"they got the offsets 0 to {count - 1:,}, without a gap, and are on the disk",
        f"the log ends at {end_offset:,} instead of {count:,}, with {gaps:,} gaps between offsets",
    )
    stage.say(f"flush=interval: {RECORDS_IN_BATCH} records an append, the disk at most 100 ms behind")
