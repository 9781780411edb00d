"""[io] The Spark session of a pipeline: ours on this machine, the cluster's elsewhere, spark-submit's own."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from distributedlog.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_DEFAULT: Final = "local[*]"
#: spark-submit sets it for the Python process that it starts.
_GATEWAY: Final = "PYSPARK_GATEWAY_PORT"
#: What a pipeline needs wherever it runs; the rest is the cluster's business.
EVERYWHERE: Final[Mapping[str, str]] = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.session.timeZone": "UTC",
}


def open_session(
    name: str, master: str | None, settings: Mapping[str, str], *, has_lock: bool, log: Path | None = None
) -> "SparkSession":
    """`has_lock`: nobody else can run on the checkpoint, so that the fast way to write it is safe.

    What Java and the workers write to standard error goes to `log`.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415

        from distributedlog.spark.errors import SparkSourceError  # noqa: PLC0415
        from distributedlog.spark.local_session import local_session, prepare_environment  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise PipelineError(
            f"Spark is not installed ({error.name} is missing): pip install 'distributedlog[spark]'"
        ) from None
    chosen = {**EVERYWHERE, **settings}
    try:
        with _standard_error_to(log):
            if _GATEWAY in os.environ:  # spark-submit has made one already, and knows the master
                builder = SparkSession.builder.appName(name)
            elif (master or LOCAL_DEFAULT).startswith("local"):
                quiet = {"spark.log.level": "WARN", **chosen}
                return local_session(
                    master or LOCAL_DEFAULT, name=name, settings=quiet, fast_checkpoints=has_lock
                )
            else:
                prepare_environment()
                builder = SparkSession.builder.appName(name).master(master or LOCAL_DEFAULT)
            for key, value in chosen.items():
                builder = builder.config(key, value)
            return builder.getOrCreate()
    except SparkSourceError as error:
        raise PipelineError(str(error)) from None


@contextlib.contextmanager
def _standard_error_to(log: Path | None) -> Iterator[None]:
    """A process that is started meanwhile inherits it; our own standard error comes back."""
    if log is None:
        yield
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(log, "ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
