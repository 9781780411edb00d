"""Specifications from TOML and Python files, and the functions that they name."""

import pytest

from distributedlog.pipelines.errors import SpecError
from distributedlog.pipelines.spec_file import load_spec, resolve_function

TOML = """
name = "view"
pipeline = "merge"
[source]
subscribe = "orders,dc2.orders"
kafka.security.protocol = "PLAINTEXT"
[merge]
keep = "function"
function = "mine.py:longest"
[sink]
topic = "view"
"""
PYTHON = """
def longest(versions):
    return max(version.value for version in versions)

PIPELINE = {
    "name": "view",
    "pipeline": "merge",
    "source": {"subscribe": "orders"},
    "merge": {"keep": "function", "function": longest},
    "sink": {"topic": "view"},
}
"""


def test_toml(tmp_path):
    (tmp_path / "view.toml").write_text(TOML)
    (tmp_path / "mine.py").write_text("def longest(versions):\n    return b'x'\n")
    spec = load_spec(tmp_path / "view.toml")
    assert spec.source["kafka"] == {"security.protocol": "PLAINTEXT"}
    assert resolve_function(spec.steps[0].arguments["function"], tmp_path)([]) == b"x"


def test_python_holds_the_function_itself(tmp_path):
    (tmp_path / "view_spec.py").write_text(PYTHON)
    spec = load_spec(tmp_path / "view_spec.py")
    function = spec.steps[0].arguments["function"]
    assert resolve_function(function, tmp_path) is function


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.toml", None, "none.toml: there is no such file"),
        ("none.py", None, "none.py: there is no such file"),
        ("broken.toml", "name = ", "broken.toml: it is not TOML: "),
        ("broken.py", "1 / 0", "broken.py: running it failed: ZeroDivisionError: division by zero"),
        ("empty.py", "", "under the name PIPELINE"),
        ("wrong.toml", "name = 'x'\npipeline = 'merg'", "did you mean 'merge'?"),
    ],
)
def test_what_is_wrong_is_said_with_the_files_name(tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(SpecError) as raised:
        load_spec(tmp_path / name)
    assert said in str(raised.value)
    assert str(tmp_path / name) in str(raised.value)


def test_functions_that_are_not_there(tmp_path):
    with pytest.raises(SpecError, match="cannot be had: there is no such file"):
        resolve_function("mine.py:longest", tmp_path)
    with pytest.raises(SpecError, match="'no_such_module:f' cannot be had"):
        resolve_function("no_such_module:f", tmp_path)
    with pytest.raises(SpecError, match="json has no function or class 'lods'"):
        resolve_function("json:lods", tmp_path)
