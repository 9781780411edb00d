"""The same specification as a Spark Declarative Pipeline: the files that `spark-pipelines run` wants.

A declarative pipeline has flows that append; results that change, state that is asked and files that are
merged are not among what it can say. For those specifications `dlog pipeline run` is the way.
"""

from pathlib import Path
from typing import Final

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.spec import PipelineSpec
from distributedlog.pipelines.spec_file import load_spec

PROJECT_FILE: Final = "spark-pipeline.yml"
_PROJECT: Final = """\
# Made by `dlog pipeline declare`. Run it with:
#   spark-pipelines run --conf spark.sql.catalogImplementation=hive
name: {name}
storage: file://{storage}
libraries:
  - glob:
      include: transformations/**
configuration:
{configuration}
"""
_TRANSFORMATION: Final = '''\
"""Made by `dlog pipeline declare`: {name}, as {spec} specifies it."""

from distributedlog.pipelines.declarative import define

define({spec!r})
'''


def write_project(spec_path: Path, directory: Path, *, force: bool = False) -> list[Path]:
    """Write a project that runs the specification where it lies; returns the files."""
    spec = load_spec(spec_path)
    check_declarable(spec)
    files = {
        directory / PROJECT_FILE: _PROJECT.format(
            name=spec.name,
            storage=(directory / "storage").absolute(),
            configuration=_configuration(spec),
        ),
        directory / "transformations" / f"{_identifier(spec.name)}.py": _TRANSFORMATION.format(
            name=spec.name, spec=str(spec_path.absolute())
        ),
    }
    there = [path for path in files if path.exists()]
    if there and not force:
        raise PipelineError(f"{there[0]} is there already; --force replaces it")
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return list(files)


def check_declarable(spec: PipelineSpec) -> None:
    """PipelineError for what only `dlog pipeline run` can do."""
    last = spec.steps[-1].step.name
    if spec.emits_changes:
        hint = "write emit = 'final'" if last == "aggregate" else "use `dlog pipeline run`"
        raise PipelineError(f"{spec.name}: a declarative pipeline cannot write results that change; {hint}")
    if {"archive", "replay"} & set(spec.kinds):
        raise PipelineError(f"{spec.name}: a declarative pipeline cannot {last}; use `dlog pipeline run`")


def define(spec_path: str) -> None:
    """Called from a pipeline's source file: the sink, and the one flow into it."""
    from pyspark import pipelines as declared  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    from distributedlog.pipelines.building import build  # noqa: PLC0415
    from distributedlog.pipelines.encoding import encode  # noqa: PLC0415
    from distributedlog.pipelines.reading import OWN_FORMAT  # noqa: PLC0415
    from distributedlog.pipelines.writing import sink_options  # noqa: PLC0415

    spec = load_spec(spec_path)
    check_declarable(spec)
    is_own = spec.sink["format"] == OWN_FORMAT
    options = sink_options(spec) if is_own else {**spec.sink["options"], **_path(spec)}
    target = f"{_identifier(spec.name)}_sink"
    declared.create_sink(target, spec.sink["format"], options)

    # Within a flow's function Spark refuses to look at columns, which building needs to do.
    built = build(SparkSession.active(), spec, Path(spec_path).parent)
    frame = encode(built.frame, built.key, routing=built.routing) if is_own else built.frame
    declared.append_flow(target=target, name=f"{_identifier(spec.name)}_flow")(lambda: frame)


def _path(spec: PipelineSpec) -> dict[str, str]:
    return {"path": spec.sink["path"]} if spec.sink["path"] else {}


def _configuration(spec: PipelineSpec) -> str:
    from distributedlog.pipelines.session import EVERYWHERE  # noqa: PLC0415

    settings = {
        **EVERYWHERE,
        "spark.sql.shuffle.partitions": str(spec.run["partitions"]),
        **spec.spark,
    }
    return "\n".join(f'  {name}: "{value}"' for name, value in settings.items())


def _identifier(name: str) -> str:
    """SQL's names have no dots and dashes."""
    return "".join(letter if letter.isalnum() else "_" for letter in name)
