"""[io] A specification from a TOML file, or from a Python file that holds it under the name PIPELINE.

A Python file may hold functions where TOML holds ``module:name``. It is run, as any program that one starts
oneself; TOML is only read, until a function that it names is called.
"""

import importlib
import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from distributedlog.pipelines.errors import SpecError
from distributedlog.pipelines.spec import PipelineSpec, parse_spec

PYTHON_NAME: Final = "PIPELINE"
#: Modules that are files beside a specification: no worker can import them.
_OF_FILES: Final[set[str]] = set()


def load_spec(path: Path | str, *, bootstrap: str | None = None) -> PipelineSpec:
    """Read and check; every SpecError begins with the file's name."""
    path = Path(path)
    try:
        given = _read_python(path) if path.suffix == ".py" else _read_toml(path)
        return parse_spec(given, bootstrap=bootstrap)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError("there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"it cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"it is not TOML: {error}") from None


def _read_python(path: Path) -> object:
    module = module_of_file(path)
    if not hasattr(module, PYTHON_NAME):
        raise SpecError(f"it must hold the specification under the name {PYTHON_NAME}, a dictionary")
    return getattr(module, PYTHON_NAME)


def module_of_file(path: Path) -> ModuleType:
    """The file as a module of its own name, so that what it defines can be sent to workers."""
    if not path.is_file():
        raise SpecError("there is no such file")
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SpecError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _OF_FILES.add(name)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise SpecError(f"running it failed: {type(error).__name__}: {error}") from error
    return module


def resolve_function(named: object, directory: Path) -> Any:
    """The callable itself; ``file.py:name`` is looked for beside the specification.

    What a file beside the specification defines is sent to the workers whole, not by its name.
    """
    found = named if callable(named) else _named(str(named), directory)
    module = getattr(found, "__module__", None)
    if module in _OF_FILES:
        from pyspark import cloudpickle  # noqa: PLC0415

        cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]
    return found


def _named(named: str, directory: Path) -> Any:
    place, _, name = named.rpartition(":")
    try:
        if place.endswith(".py"):
            module = module_of_file(directory / place)
        else:
            module = importlib.import_module(place)
    except (ImportError, SpecError) as error:
        raise SpecError(f"{named!r} cannot be had: {error}") from None
    found = getattr(module, name, None)
    if not callable(found):
        raise SpecError(f"{place} has no function or class {name!r}")
    return found
