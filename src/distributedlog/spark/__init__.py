"""Spark reads and writes topics: the data source ``distributedlog``, in Python, without a JAR.

    spark.read.format("distributedlog").option("kafka.bootstrap.servers", "localhost:9092") \\
        .option("subscribe", "orders").load()

Spark finds the source by itself where this package is installed; where it does not (Spark Connect servers
that were started elsewhere, for one), ``register`` tells it. Options and columns are those of Spark's own
Kafka connector, so that a job moves over by changing the format's name.

Modules of this room: ``data_source`` is what Spark sees; ``options``, ``read_options`` and ``write_options``
say what may be asked; ``batch_reader`` and ``stream_reader`` with ``batch_writer`` and ``stream_writer`` do
it; ``functions`` turns payloads into columns; ``local_session`` and ``java`` start Spark on a laptop.

Nothing here imports pyspark before it is needed.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: "SparkSession") -> None:
    """Make the format ``distributedlog`` known to this session."""
    from distributedlog.spark.data_source import DistributedLogDataSource  # noqa: PLC0415
    from distributedlog.spark.java import check_spark_version  # noqa: PLC0415

    check_spark_version(spark.version)
    spark.dataSource.register(DistributedLogDataSource)
