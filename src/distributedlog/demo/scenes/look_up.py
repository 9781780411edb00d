"""Finding single records: by offset, and by time to the record."""

import random
from typing import Final

from distributedlog import Log
from distributedlog.demo.figures import Stopwatch
from distributedlog.demo.orders import FIRST_TIMESTAMP, INTERVAL_MS, orders_as_read
from distributedlog.demo.stage import Stage

TITLE = "Look records up, by number and by time"
LOOK_UPS: Final = 2_000
SEED: Final = 7


def play(stage: Stage) -> None:
    chosen = random.Random(SEED)
    offsets = [chosen.randrange(stage.records_count) for _ in range(LOOK_UPS)]
    opening, by_number, by_time = Stopwatch(), Stopwatch(), Stopwatch()
    wrong_records = wrong_offsets = 0
    with opening:
        log = Log(stage.orders_path)
    with log, stage.progress(2 * LOOK_UPS) as advance:
        for offset in offsets:
            with by_number:
                record = next(log.read(offset), None)
            wrong_records += record != orders_as_read([offset])[0]
            advance(1)
        for offset in offsets:
            # Some milliseconds after the order before, or the very moment of this one.
            moment = FIRST_TIMESTAMP + offset * INTERVAL_MS - chosen.randrange(INTERVAL_MS)
            with by_time:
                found = log.offset_for_time(moment)
            wrong_offsets += found != offset
            advance(1)
        beyond = log.offset_for_time(FIRST_TIMESTAMP + stage.records_count * INTERVAL_MS)
    stage.measured("look up a record by number", LOOK_UPS, by_number.seconds)
    stage.measured("look up an offset by time", LOOK_UPS, by_time.seconds)
    stage.claim(
        not wrong_records,
        f"{LOOK_UPS:,} offsets taken at random: each gave its record",
        f"{wrong_records:,} of {LOOK_UPS:,} offsets gave another record than theirs",
    )
    stage.claim(
        not wrong_offsets and beyond is None,
        f"{LOOK_UPS:,} moments: each gave the first record from then on, to the offset",
        f"{wrong_offsets:,} of {LOOK_UPS:,} moments gave a wrong record; after the last there was {beyond}",
    )
    stage.say(f"opening the log to append to it took {stage.duration(opening.seconds)}")
