"""[io] What a task does with its rows, whichever writer it works for: batches, sent or staged."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from distributedlog.spark.output_batches import Encoding, OutputBatch, encode_chunk, topics_of
from distributedlog.spark.output_columns import OutputColumns
from distributedlog.spark.sending import Sender, SenderSettings
from distributedlog.spark.shared_client import SharedClient, shared_client
from distributedlog.spark.staging import Stage, StagedOutput, StagingPlace
from distributedlog.spark.write_options import WriteOptions

#: Rows are gathered up to so many bytes before they are sorted by partition.
CHUNK_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """All rows of a task were acknowledged."""


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Which task this is: of which query, run and batch, and which of its partitions."""

    query: str
    run: str
    batch_id: int
    partition_id: int


def send_rows(
    rows: Iterator[pa.RecordBatch], columns: OutputColumns, options: WriteOptions, number: int
) -> Written:
    """At least once: sent by the task itself, which ends when all is acknowledged."""
    client = shared_client(options.client)
    settings = sender_settings(options)
    key = Sender, settings
    sender: Sender = client.keep(key, lambda: Sender(client.cluster, settings))
    try:
        for batches in _encoded(rows, columns, options, client, number):
            client.run(sender.put(batches))
        client.run(sender.flush())
    except BaseException:
        client.kept.pop(key)
        client.run(sender.close())
        raise
    return Written()


def stage_rows(
    rows: Iterator[pa.RecordBatch],
    columns: OutputColumns,
    options: WriteOptions,
    task: TaskPlace,
    place: StagingPlace,
) -> StagedOutput:
    """Exactly once: left for the driver. Nothing but metadata is asked of the cluster."""
    client = shared_client(options.client)
    stage = Stage(place, task.query, task.run, task.batch_id)
    try:
        for batches in _encoded(rows, columns, options, client, task.batch_id + task.partition_id):
            stage.add(batches)
        return stage.finish()
    except BaseException:
        stage.discard()
        raise


def sender_settings(options: WriteOptions) -> SenderSettings:
    request_timeout_ms = options.client.client_settings().request_timeout_ms
    return SenderSettings(options.request_size_max, request_timeout_ms, options.delivery_timeout_ms)


def _encoded(
    rows: Iterator[pa.RecordBatch],
    columns: OutputColumns,
    options: WriteOptions,
    client: SharedClient,
    number: int,
) -> Iterator[list[OutputBatch]]:
    encoding = Encoding(options.batch_size, options.compression, options.request_size_max)
    counts: dict[str, int] = {}
    for chunk_number, chunk in enumerate(_chunks(rows)):
        topics = [options.topic] if options.topic is not None else topics_of(chunk, columns)
        unknown = [topic for topic in topics if topic not in counts]
        if unknown:
            counts |= client.run(client.partition_counts(unknown, options.delivery_timeout_ms))
        yield list(
            encode_chunk(
                chunk,
                columns,
                counts,
                encoding,
                default_topic=options.topic,
                keyless_number=number + chunk_number,
                timestamp_ms=time.time_ns() // 1_000_000,
            )
        )


def _chunks(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in pieces of some size: Spark's own are as small as its settings say."""
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in rows:
        if batch.num_rows == 0:
            continue
        gathered.append(batch)
        size += batch.nbytes
        if size >= CHUNK_BYTES:
            yield _joined(gathered)
            gathered, size = [], 0
    if gathered:
        yield _joined(gathered)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
