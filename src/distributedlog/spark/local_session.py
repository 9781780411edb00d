"""[io] Spark on a laptop, set up for small streams: what measured best is the default here."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from distributedlog.spark.java import check_spark_version, find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What makes local sessions quick; each is there because it measured better (docs/adr/0021).
LOCAL_SETTINGS: Final[Mapping[str, str]] = {
    # Python and Java on one machine need no network: a third off the way of a micro-batch.
    "spark.python.unix.domain.socket.enabled": "true",
    # Filters on partition, offset and timestamp reach the source.
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # A shuffle of a small stream costs by the partition. Fixed in a checkpoint when it is first made.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}

#: Spares about 20 processes a batch, but two drivers on one checkpoint then no longer notice each other:
#: only for a checkpoint that is locked, or a sink that fences (docs/adr/0021).
FAST_CHECKPOINTS: Final[Mapping[str, str]] = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


def local_session(
    master: str = "local[*]",
    *,
    name: str = "distributedlog",
    settings: Mapping[str, str] | None = None,
    fast_checkpoints: bool = False,
) -> "SparkSession":
    """A session on this machine, or the one that this process has already.

    `settings` override the defaults. `fast_checkpoints` only where nobody else can run on the checkpoint.
    """
    prepare_environment()
    from pyspark.sql import SparkSession  # noqa: PLC0415  (takes a while to load)
    from pyspark.version import __version__ as version  # noqa: PLC0415

    check_spark_version(version)
    chosen = {**LOCAL_SETTINGS, **(FAST_CHECKPOINTS if fast_checkpoints else {}), **(settings or {})}
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def prepare_environment() -> None:
    """A Java for the session, and this interpreter for its workers unless the user has chosen another."""
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # Spark looks for a network otherwise, and warns
