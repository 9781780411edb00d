"""What `import distributedlog` gives, and what it does not cost."""

import importlib.metadata
import subprocess
import sys

import pytest

import distributedlog


def modules_after(statement):
    """What a fresh interpreter has loaded after a statement."""
    program = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return output.stdout.split()


def heavy(modules):
    """Of the loaded modules those that take long to load, and the rooms they came through."""
    names = {"numba", "numpy", "pyarrow", "asyncio", "rich", "cramjam"}
    return [module for module in modules if module.split(".")[0] in names]


def test_the_package_alone_loads_no_room_of_it():
    loaded = modules_after("import distributedlog")
    assert [name for name in loaded if name.startswith("distributedlog")] == ["distributedlog"]
    assert heavy(loaded) == []


def test_the_log_is_loaded_with_its_first_use_and_brings_no_kernels():
    loaded = modules_after("from distributedlog import Log")
    assert "distributedlog.log" in loaded
    assert not {module.split(".")[0] for module in heavy(loaded)} & {
        "numba",
        "numpy",
        "pyarrow",
        "asyncio",
        "rich",
    }
    assert not [name for name in loaded if name.startswith(("distributedlog.wire", "distributedlog.cli"))]


def test_the_client_is_loaded_without_what_only_some_need():
    loaded = modules_after("from distributedlog import AsyncConsumer, Consumer, exactly_once")
    assert "distributedlog.client.consumer.consumer" in loaded
    assert not {module.split(".")[0] for module in loaded} & {"numba", "numpy", "pyarrow", "uvloop", "rich"}


def test_a_log_is_written_and_read_without_the_extra(tmp_path):
    statement = (
        "from distributedlog import Log;"
        f"log = Log({str(tmp_path)!r}); log.append(key=b'k', value=b'v'); list(log.read()); log.close()"
    )
    loaded = modules_after(statement)
    assert not {module.split(".")[0] for module in heavy(loaded)} & {"numba", "numpy", "pyarrow"}


@pytest.mark.parametrize("name", sorted(set(distributedlog.__all__) - {"__version__"}))
def test_every_public_name_is_there_and_says_so(name):
    found = getattr(distributedlog, name)
    assert found.__name__ == name
    assert found.__module__.startswith("distributedlog.")


@pytest.mark.parametrize("name", ["Producer", "Consumer", "Admin", "AsyncProducer", "AsyncConsumer"])
def test_a_client_brings_no_kernels(name):
    loaded = modules_after(f"from distributedlog import {name}")
    assert not {module.split(".")[0] for module in loaded} & {"numba", "numpy", "pyarrow", "uvloop", "rich"}


def test_the_version_is_that_of_the_installed_package():
    assert distributedlog.__version__ == importlib.metadata.version("distributedlog")


def test_another_name_is_an_attribute_error_as_everywhere():
    with pytest.raises(AttributeError, match="module 'distributedlog' has no attribute 'nonsense'"):
        distributedlog.nonsense  # noqa: B018
    with pytest.raises(ImportError):
        from distributedlog import nonsense  # noqa: F401


def test_every_error_of_the_public_face_is_a_log_error():
    from distributedlog import LogError, errors

    for name in errors.__all__:
        assert issubclass(getattr(errors, name), LogError)
