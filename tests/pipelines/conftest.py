"""What the tests of pipelines share: one local session per process, small frames, and streams of files.

A streaming test gives a stream its micro-batches as files, one to a batch, and runs until all are done
(AvailableNow): nothing waits for a clock.
"""

from datetime import UTC, datetime, timedelta

import pytest

from spark_session import session_of_tests

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def spark():
    with session_of_tests() as session:
        yield session


@pytest.fixture
def at():
    """A moment, in seconds after the start."""
    return lambda seconds: START + timedelta(seconds=seconds)


@pytest.fixture
def stream(spark, tmp_path):
    """A streaming frame whose micro-batches are these lists of rows."""
    made = 0

    def make(schema, *batches):
        nonlocal made
        made += 1
        directory = tmp_path / f"stream-{made}"
        for number, rows in enumerate(batches):
            path = directory / f"{number}"
            spark.createDataFrame(rows, schema).coalesce(1).write.parquet(str(path))
            (file,) = path.glob("part-*.parquet")
            file.rename(directory / f"{number:04d}.parquet")
            for rest in sorted(path.iterdir()):
                rest.unlink()
            path.rmdir()
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.option("latestFirst", "false").parquet(str(directory))

    return make


@pytest.fixture
def results(spark, tmp_path):
    """Run a streaming frame to its end; the rows of each micro-batch, in order, and the query."""
    runs = 0

    def run(frame, mode="append", checkpoint=None):
        nonlocal runs
        runs += 1
        batches = []
        query = (
            frame.writeStream.outputMode(mode)
            .option("checkpointLocation", str(checkpoint or tmp_path / f"checkpoint-{runs}"))
            .foreachBatch(lambda batch, _: batches.append([tuple(row) for row in batch.collect()]))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        run.query = query
        return batches

    return run
