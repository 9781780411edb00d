"""[io] The sink for streams: at least once, or each micro-batch whole and once (docs/adr/0023)."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from distributedlog.spark.commit_staged import commit_staged, discard_staged
from distributedlog.spark.errors import SparkSourceError
from distributedlog.spark.output_columns import OutputColumns
from distributedlog.spark.row_writing import TaskPlace, send_rows, stage_rows
from distributedlog.spark.staging import StagingPlace
from distributedlog.spark.worker_memory import settle
from distributedlog.spark.write_options import WriteOptions

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"
#: Spark runs a query's jobs in a group that is named after the query's run.
_RUN: Final = "spark.jobGroup.id"


class StreamWriter(DataSourceStreamArrowWriter):
    """Made on the driver for each query, and again for each commit; its copies write in tasks."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        self._options = options
        self._columns = OutputColumns.of(schema, options.topic)
        self._place = StagingPlace.of_driver(options.staging_directory)
        settle()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        task = _this_task()
        try:
            if not self._options.exactly_once:
                return send_rows(iterator, self._columns, self._options, task.batch_id + task.partition_id)
            return stage_rows(iterator, self._columns, self._options, task, self._place)
        finally:
            settle()

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        if self._options.exactly_once:
            commit_staged(messages, batchId, self._options, self._place)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        if self._options.exactly_once:
            discard_staged(messages, batchId, self._place)


def _this_task() -> TaskPlace:
    context = TaskContext.get()
    if context is None:
        raise SparkSourceError("a stream's rows are written in Spark's tasks only")
    names = {name: context.getLocalProperty(name) for name in (_QUERY, _BATCH, _RUN)}
    missing = [name for name, value in names.items() if not value]
    if missing:
        raise SparkSourceError(
            f"Spark does not say which query this is: its task has no {', '.join(missing)}"
        )
    return TaskPlace(names[_QUERY] or "", names[_RUN] or "", int(names[_BATCH] or 0), context.partitionId())
