"""The same records as Arrow columns, where the extra is installed."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from distributedlog import LogReader
from distributedlog.demo.figures import Stopwatch
from distributedlog.demo.orders import VALUE_BYTES, orders
from distributedlog.demo.stage import Stage

if TYPE_CHECKING:
    import pyarrow

TITLE = "Read them as Arrow columns"
NEEDED: Final = ("numba", "numpy", "pyarrow")


def play(stage: Stage) -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        stage.say(
            f"left out: {', '.join(missing)} missing; pip install 'distributedlog[arrow]'", "-", "yellow"
        )
        return
    count = stage.records_count
    first_call, reading = Stopwatch(), Stopwatch()
    seen = wrong = 0
    with LogReader(stage.orders_path) as reader, stage.progress(count) as advance:
        with first_call:
            next(reader.read_arrow_batches(), None)
        batches = reader.read_arrow_batches()
        while True:
            with reading:
                batch = next(batches, None)
            if batch is None:
                break
            wrong += not is_as_written(batch, seen)
            seen += batch.num_rows
            advance(batch.num_rows)
    stage.measured("read as Arrow columns", seen, reading.seconds, seen * VALUE_BYTES)
    stage.claim(
        seen == count and not wrong,
        f"all {seen:,} are as written, in every column",
        f"{wrong:,} Arrow batches are not as written; {seen:,} records of {count:,} were read",
    )
    stage.say(
        f"the first call took {stage.duration(first_call.seconds)}: the decoder is compiled once, "
        "and only loaded from then on"
    )


def is_as_written(batch: "pyarrow.RecordBatch", first_offset: int) -> bool:
    import pyarrow as pa  # noqa: PLC0415 (the extra `arrow`)

    made = orders(range(first_offset, first_offset + batch.num_rows))
    due = {
        "offset": pa.array(range(first_offset, first_offset + batch.num_rows), pa.int64()),
        "timestamp": pa.array([entry.timestamp for entry in made], pa.timestamp("ms", tz="UTC")),
        "key": pa.array([entry.key for entry in made], pa.binary()),
        "value": pa.array([entry.value for entry in made], pa.binary()),
    }
    return all(batch.column(name).equals(column) for name, column in due.items())
