"""[io] The sink for batches: at least once, or the whole frame in one transaction (docs/adr/0023)."""

import uuid
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from distributedlog.spark.commit_staged import commit_staged, discard_staged
from distributedlog.spark.output_columns import OutputColumns
from distributedlog.spark.row_writing import TaskPlace, send_rows, stage_rows
from distributedlog.spark.staging import StagingPlace
from distributedlog.spark.write_options import WriteOptions

_ONLY_BATCH: Final = 0


class BatchWriter(DataSourceArrowWriter):
    """Made on the driver for each write; its copies write in tasks. Each write is a query of its own."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        self._options = options
        self._columns = OutputColumns.of(schema, options.topic)
        self._place = StagingPlace.of_driver(options.staging_directory)
        self._query = f"batch-{uuid.uuid4()}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        if not self._options.exactly_once:
            return send_rows(iterator, self._columns, self._options, number)
        task = TaskPlace(self._query, self._query, _ONLY_BATCH, number)
        return stage_rows(iterator, self._columns, self._options, task, self._place)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._options.exactly_once:
            commit_staged(messages, _ONLY_BATCH, self._options, self._place, is_last=True)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._options.exactly_once:
            discard_staged(messages, _ONLY_BATCH, self._place)
