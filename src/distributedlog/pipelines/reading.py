"""The frames that a specification's ``[source]`` sections ask for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from distributedlog.pipelines.decoding import decode
from distributedlog.pipelines.latest import latest_per_key
from distributedlog.pipelines.schemas import struct_of
from distributedlog.pipelines.spec_sections import CONNECTOR_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OWN_FORMAT: Final = "distributedlog"
#: A batch read of a table has a beginning and an end; where a stream starts is not its business.
_OF_STREAMS: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")


def read_stream(spark: "SparkSession", source: Mapping[str, Any], bootstrap: str) -> "DataFrame":
    """A stream of decoded records. From the beginning of the topic, unless `startingOffsets` says other."""
    options = {"startingOffsets": "earliest", **source_options(source, bootstrap)}
    if source["format"] != OWN_FORMAT:
        del options["startingOffsets"]
    reader = spark.readStream.format(source["format"]).options(**options)
    return decode(_loaded(reader, source), source)


def read_table(spark: "SparkSession", source: Mapping[str, Any], bootstrap: str) -> "DataFrame":
    """A static frame: what the topic means as a table, decoded; planned anew whenever it is used.

    Of another format the rows are taken as they are.
    """
    options = source_options(source, bootstrap)
    for name in _OF_STREAMS:
        options.pop(name, None)
    reader = spark.read.format(source["format"]).options(**options)
    frame = _loaded(reader, source)
    if source["format"] == OWN_FORMAT:
        frame = latest_per_key(frame).where("value IS NOT NULL")
    return decode(frame, source)


def source_options(source: Mapping[str, Any], bootstrap: str) -> dict[str, str]:
    """All that the format is told."""
    options = {name: source[name] for name in CONNECTOR_OPTIONS if source[name] is not None}
    if source["format"] == OWN_FORMAT:
        options["kafka.bootstrap.servers"] = bootstrap
    options |= {f"kafka.{name}": value for name, value in source["kafka"].items()}
    return options | dict(source["options"])


def _loaded(reader: Any, source: Mapping[str, Any]) -> "DataFrame":
    if source["format"] != OWN_FORMAT and source["value"] == "bytes" and source["schema"]:
        reader = reader.schema(struct_of(source["schema"], "[source] schema"))
    frame: DataFrame = reader.load(source["path"]) if source["path"] else reader.load()
    return frame
