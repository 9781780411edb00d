"""From a specification to a frame: the source, then one step behind the other."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.reading import read_stream, read_table
from distributedlog.pipelines.spec import PipelineSpec, PlannedStep
from distributedlog.pipelines.spec_file import resolve_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

#: Arguments that are for whoever writes the result.
_FOR_WRITERS = {
    "aggregate": {"emit"},
    "archive": {"path", "format", "compact_files"},
    "replay": {"path", "format"},
}


@dataclass(frozen=True, slots=True)
class Built:
    """A frame that has not been started, and what its results' key and routing are."""

    frame: "DataFrame"
    key: tuple[str, ...]
    routing: tuple[str, ...]


def build(spark: "SparkSession", spec: PipelineSpec, directory: Path) -> Built:
    """`directory` is where functions named ``file.py:name`` are looked for."""
    frame = _source(spark, spec)
    for planned in spec.steps:
        frame = _apply(spark, frame, planned, spec, directory)
    return Built(frame, _key(spec), _routing(spec))


def _source(spark: "SparkSession", spec: PipelineSpec) -> "DataFrame":
    first = spec.steps[0]
    if first.step.name == "replay":
        from distributedlog.pipelines.lake_formats import read_lake  # noqa: PLC0415

        return read_lake(spark, first.arguments["path"], first.arguments["format"])
    return read_stream(spark, spec.source, spec.bootstrap)


def _apply(
    spark: "SparkSession", frame: "DataFrame", planned: PlannedStep, spec: PipelineSpec, directory: Path
) -> "DataFrame":
    name = planned.step.name
    arguments: dict[str, Any] = {
        key: value
        for key, value in planned.arguments.items()
        if key not in _FOR_WRITERS.get(name, ()) and value is not None
    }
    for key in ("function", "handler"):
        if key in arguments:
            arguments[key] = resolve_function(arguments[key], directory)
    if planned.step.is_raw and "value" not in frame.columns and name != "archive":
        raise PipelineError(f"[source] value: {name} takes records as they are; leave 'value' out")
    if name == "materialize":
        arguments["deleted"] = True
    if name == "join":
        assert planned.source is not None
        read = read_stream if arguments["to"] == "stream" else read_table
        right = read(spark, planned.source, spec.bootstrap)
        return _function(name)(frame, right, **arguments)
    return _function(name)(frame, **arguments)


def _function(name: str) -> "Callable[..., DataFrame]":
    from importlib import import_module  # noqa: PLC0415

    found: Callable[..., DataFrame] = getattr(import_module(f"distributedlog.pipelines.{name}"), name)
    return found


def _key(spec: PipelineSpec) -> tuple[str, ...]:
    """What ``[sink] key`` says, else what makes a result of an aggregate the same result."""
    if spec.sink["key"]:
        return tuple(spec.sink["key"])
    last = spec.steps[-1]
    if last.step.name != "aggregate":
        return ()
    return (*(name.rsplit(".", 1)[-1] for name in last.arguments["by"]), "window_start", "window_end")


def _routing(spec: PipelineSpec) -> tuple[str, ...]:
    if spec.kinds[-1] == "validate":
        return ("topic",)
    replays = [planned for planned in spec.steps if planned.step.name == "replay"]
    return ("partition",) if replays and replays[0].arguments["keep_partitions"] else ()
