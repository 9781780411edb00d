"""Ready pipelines on Spark: what every team would otherwise write again.

Each is a function from DataFrame to DataFrame in the module of its own name; a specification in TOML or
Python names them, and a runner starts them, from `dlog pipeline run`, from spark-submit or from Python.

    from distributedlog.pipelines import aggregate, load_spec, query

Follow a specification: ``spec_file`` reads it, ``spec`` checks it by the tables of ``catalog`` and
``spec_sections``; ``building`` makes the frame out of ``reading`` and the steps; ``writing`` starts its
query, ``runner`` watches over it, ``home`` is where the others look for it.

Nothing here imports pyspark before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from distributedlog.pipelines.errors import PipelineError, SpecError
    from distributedlog.pipelines.handler import Handler
    from distributedlog.pipelines.merge import Version
    from distributedlog.pipelines.spec_file import load_spec
    from distributedlog.pipelines.state_query import look_up, read_state

_PLACES: Final = {
    "Handler": "handler",
    "PipelineError": "errors",
    "SpecError": "errors",
    "Version": "merge",
    "load_spec": "spec_file",
    "look_up": "state_query",
    "read_state": "state_query",
}

__all__ = ["Handler", "PipelineError", "SpecError", "Version", "load_spec", "look_up", "read_state"]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"distributedlog.pipelines.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
