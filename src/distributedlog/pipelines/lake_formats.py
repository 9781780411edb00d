"""The formats of a lake: Parquet always, Delta and Iceberg where their jars are in the session."""

from typing import TYPE_CHECKING, Any, Final

from distributedlog.pipelines.archive import PARTITIONS
from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.lake_files import LakeFiles
from distributedlog.pipelines.lake_writer import LakeWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_CLASSES: Final = {
    "delta": ("org.apache.spark.sql.delta.sources.DeltaDataSource", "io.delta:delta-spark"),
    "iceberg": ("org.apache.iceberg.spark.source.IcebergSource", "org.apache.iceberg:iceberg-spark-runtime"),
}


def need_format(spark: "SparkSession", name: str) -> None:
    """PipelineError where the session has no jar for it."""
    if name not in _CLASSES:
        return
    class_name, package = _CLASSES[name]
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is not None and not jvm.org.apache.spark.util.Utils.classIsLoadable(class_name):
        raise PipelineError(
            f"this Spark has no {name}: add its jar, as with --conf spark.jars.packages={package}_…, or "
            "write format = 'parquet'"
        )


def read_lake(spark: "SparkSession", path: str, name: str) -> "DataFrame":
    """What an archive holds. Its own ``date`` and ``hour`` are read back from the path."""
    need_format(spark, name)
    if name == "iceberg":
        return spark.read.table(path)
    return spark.read.format(name).load(path)


def write_lake(
    frame: "DataFrame", path: str, name: str, compact_files: int, prepare: "Callable[[DataStreamWriter], Any]"
) -> "StreamingQuery":
    """Start the query that archives. `prepare` sets what all queries have: trigger, checkpoint, name."""
    spark = frame.sparkSession
    need_format(spark, name)
    writer = prepare(frame.writeStream.outputMode("append"))
    if name == "iceberg":
        return writer.partitionBy(*PARTITIONS).format("iceberg").toTable(path)  # type: ignore[no-any-return]
    write = _delta(path) if name == "delta" else _parquet(spark, path, compact_files)
    return writer.foreachBatch(write).start()  # type: ignore[no-any-return]


def _parquet(spark: "SparkSession", path: str, compact_files: int) -> "Callable[[DataFrame, int], None]":
    files = LakeFiles(spark, path)
    writers: dict[str, LakeWriter] = {}

    def write(batch: "DataFrame", batch_id: int) -> None:
        query = query_id(batch.sparkSession)
        if query not in writers:
            writers[query] = LakeWriter(files, query, compact_files)
        writers[query].write(batch, batch_id)

    return write


def _delta(path: str) -> "Callable[[DataFrame, int], None]":
    """Delta remembers the last batch of an application and skips what it has."""

    def write(batch: "DataFrame", batch_id: int) -> None:
        writer = batch.write.format("delta").mode("append").partitionBy(*PARTITIONS)
        writer.option("txnAppId", query_id(batch.sparkSession)).option("txnVersion", batch_id).save(path)

    return write


def query_id(spark: "SparkSession") -> str:
    """The id of the query whose batch is being written; it stays the same as long as its checkpoint does."""
    found = spark.sparkContext.getLocalProperty("sql.streaming.queryId")
    if not found:
        raise PipelineError("the batch does not say which query it belongs to")
    return str(found)
