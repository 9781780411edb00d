"""The query that writes a built frame to where ``[sink]`` says."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from distributedlog.pipelines.building import Built
from distributedlog.pipelines.encoding import encode
from distributedlog.pipelines.reading import OWN_FORMAT
from distributedlog.pipelines.spec import PipelineSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

NOWHERE: Final = "noop"


def start(built: Built, spec: PipelineSpec, checkpoint: str) -> "StreamingQuery":
    """Start the streaming query; it runs until it is stopped, or with ``available-now`` to what is there."""

    def prepare(writer: "DataStreamWriter") -> "DataStreamWriter":
        seconds = spec.trigger_seconds
        writer = writer.queryName(spec.name).option("checkpointLocation", checkpoint)
        if seconds is None:
            return writer.trigger(availableNow=True)
        return writer.trigger(processingTime=f"{round(seconds * 1000)} milliseconds")

    last = spec.steps[-1]
    if last.step.name == "archive":
        from distributedlog.pipelines.lake_formats import write_lake  # noqa: PLC0415

        given = last.arguments
        return write_lake(built.frame, given["path"], given["format"], given["compact_files"], prepare)
    mode = "update" if spec.emits_changes else "append"
    sink = spec.sink
    if sink["format"] != OWN_FORMAT:
        writer = built.frame.writeStream.outputMode(mode).format(sink["format"]).options(**sink["options"])
        return _started(prepare(writer), sink["path"])
    if sink["topic"] is None and spec.kinds[-1] != "validate":
        return _started(prepare(built.frame.writeStream.outputMode(mode).format(NOWHERE)), None)
    if mode == "update":
        return prepare(built.frame.writeStream.outputMode(mode)).foreachBatch(_upserts(built, spec)).start()
    records = encode(built.frame, built.key, routing=built.routing)
    writer = records.writeStream.outputMode(mode).format(OWN_FORMAT).options(**sink_options(spec))
    return _started(prepare(writer), None)


def write_batch(built: Built, spec: PipelineSpec) -> None:
    """A static frame, written once: `replay`."""
    sink = spec.sink
    if sink["format"] != OWN_FORMAT:
        writer = built.frame.write.format(sink["format"]).options(**sink["options"]).mode("append")
        writer.save(sink["path"])
        return
    records = encode(built.frame, built.key, routing=built.routing)
    records.write.format(OWN_FORMAT).options(**sink_options(spec)).mode("append").save()


def sink_options(spec: PipelineSpec) -> dict[str, str]:
    """All that our own format is told for writing."""
    sink = spec.sink
    options = {"kafka.bootstrap.servers": spec.bootstrap, "exactlyOnce": str(sink["exactlyOnce"]).lower()}
    if sink["topic"] is not None:
        options["topic"] = sink["topic"]
    options |= {f"kafka.{name}": value for name, value in sink["kafka"].items()}
    return options | dict(sink["options"])


def _upserts(built: Built, spec: PipelineSpec) -> "Callable[[DataFrame, int], None]":
    """Each micro-batch as a batch of its own, for results that change (docs/adr/0026).

    Spark gives streaming sinks written in Python no mode ``update``. A batch that is replayed writes the same
    values to the same keys, and no other batch comes in between.
    """
    options = sink_options(spec)

    def write(batch: "DataFrame", _batch_id: int) -> None:
        records = encode(batch, built.key, routing=built.routing)
        records.write.format(OWN_FORMAT).options(**options).mode("append").save()

    return write


def _started(writer: Any, path: str | None) -> "StreamingQuery":
    query: StreamingQuery = writer.start(path) if path else writer.start()
    return query
