"""What Spark sees: the source ``distributedlog``, its columns, and who reads and writes.

Readers and writers are imported when one is asked for: a job that only reads never loads the writers.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from distributedlog.spark.read_options import ReadOptions

if TYPE_CHECKING:
    from distributedlog.spark.batch_writer import BatchWriter
    from distributedlog.spark.stream_writer import StreamWriter


class DistributedLogDataSource(DataSource):
    """Topics of a Kafka-compatible cluster as a table, for batches and for streams, to read and to write."""

    @classmethod
    def name(cls) -> str:
        return "distributedlog"

    def schema(self) -> StructType:
        """The columns of Spark's own Kafka source, or those that the option ``columns`` names."""
        from distributedlog.spark.columns import spark_schema  # noqa: PLC0415

        return spark_schema(ReadOptions.of(self.options, is_streaming=None).columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        from distributedlog.spark.batch_reader import batch_reader  # noqa: PLC0415

        return batch_reader(ReadOptions.of(self.options, is_streaming=False), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from distributedlog.spark.stream_reader import StreamReader  # noqa: PLC0415

        return StreamReader(ReadOptions.of(self.options, is_streaming=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> "BatchWriter":
        from distributedlog.spark.batch_writer import BatchWriter  # noqa: PLC0415
        from distributedlog.spark.write_options import WriteOptions  # noqa: PLC0415

        return BatchWriter(WriteOptions.of(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamWriter":  # noqa: N802
        from distributedlog.spark.stream_writer import StreamWriter  # noqa: PLC0415
        from distributedlog.spark.write_options import WriteOptions  # noqa: PLC0415

        return StreamWriter(WriteOptions.of(self.options), schema)
