"""A log as a table: of each key the last record stays, at its old offset."""

from itertools import islice
from typing import Final

from distributedlog import Entry, Log, LogReader
from distributedlog.demo.figures import Stopwatch
from distributedlog.demo.orders import CUSTOMERS, VALUE_BYTES
from distributedlog.demo.stage import Advance, Stage

TITLE = "Compact a copy: of each customer, keep the last order"
RECORDS_IN_STEP: Final = 10_000
#: One customer in so many is forgotten: a record without a value, which compaction keeps for a day.
FORGOTTEN_EACH: Final = 100
CONFIG: Final = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}


def play(stage: Stage) -> None:
    count = stage.records_count
    warm_up(stage)
    compacting = Stopwatch()
    latest: dict[bytes | None, tuple[int, bytes | None]] = {}
    with Log(stage.directory / "last-orders", flush="interval", config=CONFIG) as log:
        with stage.progress(count) as advance:
            copy(stage, log, latest, advance)
        appended = log.end_offset
        bytes_before = bytes_on_disk(log)
        with compacting:
            log.compact()
        kept = [(record.key, (record.offset, record.value)) for record in log.read()]
        bytes_after = bytes_on_disk(log)
        end_offset = log.end_offset
    stage.measured("compact", appended, compacting.seconds, appended * VALUE_BYTES)
    wrong = sum(latest.get(key) != last for key, last in kept)
    stage.claim(
        len(kept) == len(latest) and not wrong and end_offset == appended,
        f"{appended:,} records became {len(kept):,}: the last of each key, with its offset",
        f"{len(kept):,} records are left for {len(latest):,} keys, {wrong:,} of them not the last of theirs",
    )
    forgotten = sum(value is None for _, (_, value) in kept)
    stage.say(
        f"{bytes_before / 1e6:,.1f} MB became {bytes_after / 1e6:,.1f} MB; {forgotten} of the records "
        "say that their customer is forgotten, and go after a day"
    )


def warm_up(stage: Stage) -> None:
    """Have the kernels compiled, or loaded, before the time is taken."""
    with Log(stage.directory / "warm-up", flush="os", config=CONFIG) as log:
        log.append_many([(b"key", b"old"), (b"key", b"new")])
        log.compact()


def copy(
    stage: Stage, log: Log, latest: dict[bytes | None, tuple[int, bytes | None]], advance: Advance
) -> None:
    """Records can be appended as they were read."""
    with LogReader(stage.orders_path) as reader:
        records = reader.read()
        while chunk := list(islice(records, RECORDS_IN_STEP)):
            offsets = log.append_many(chunk)
            latest.update(
                (record.key, (offset, record.value)) for offset, record in zip(offsets, chunk, strict=True)
            )
            advance(len(chunk))
    forgotten = [Entry(b"customer-%04d" % number) for number in range(0, CUSTOMERS, FORGOTTEN_EACH)]
    offsets = log.append_many(forgotten)
    latest.update((entry.key, (offset, None)) for offset, entry in zip(offsets, forgotten, strict=True))


def bytes_on_disk(log: Log) -> int:
    return sum(path.stat().st_size for path in log.path.glob("*/*.log"))
