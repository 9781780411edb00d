"""Kernels are compiled anew when they must be, and work where they cannot be kept or not be had."""

import ast
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import distributedlog.records
from distributedlog.records.kernels import INT64_IN, kernel

ROOM = Path(distributedlog.records.__file__).parent
PREFIX = "distributedlog.records.kernels"


def helpers_of(name, seen=None):
    """The kernels files that this one takes helpers or constants from, and those that they do."""
    seen = set() if seen is None else seen
    for node in ast.walk(ast.parse((ROOM / f"{name}.py").read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PREFIX):
            module = node.module.rpartition(".")[2]
            if module not in seen:
                seen.add(module)
                helpers_of(module, seen)
    return seen


def files_with_kernels():
    return sorted(path.stem for path in ROOM.glob("kernels_*.py") if "\n@kernel(" in path.read_text())


@pytest.mark.parametrize("name", files_with_kernels())
def test_a_file_with_kernels_names_the_helpers_it_was_compiled_with(name):
    digest = hashlib.sha256()
    for helper in sorted(helpers_of(name)):
        # Without its own HELPERS line, which would make one change ripple through all files.
        text = (ROOM / f"{helper}.py").read_text()
        digest.update(
            "".join(line for line in text.splitlines(True) if "HELPERS: Final" not in line).encode()
        )
    line = f'HELPERS: Final = "{digest.hexdigest()[:16]}"'
    assert line in (ROOM / f"{name}.py").read_text().splitlines(), f"{name}.py must say {line}"


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_neither_numba_nor_pyarrow_is_loaded_before_it_is_needed():
    done = run(
        "import sys, distributedlog, distributedlog.records, distributedlog.records.compaction\n"
        "print([name for name in ('numba', 'numpy', 'pyarrow') if name in sys.modules])"
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("missing", ["numba", "pyarrow"])
def test_what_is_missing_is_said_with_the_way_to_get_it(missing):
    done = run(f"import sys; sys.modules[{missing!r}] = None\nimport distributedlog.records.columns")
    assert "ImportError: columns need numba" in done.stderr
    assert "pip install 'distributedlog[arrow]'" in done.stderr


def test_compaction_does_without_numba():
    done = run(
        "import sys; sys.modules['numba'] = None\n"
        "from distributedlog.records.compaction import make_compactor\n"
        "print(type(make_compactor(1 << 20, bytes(16))).__name__)"
    )
    assert (done.stdout.strip(), done.stderr) == ("PythonCompactor", "")


def test_a_kernel_that_cannot_be_kept_works_all_the_same():
    """Code without a file has no place in any cache, which is where a read-only machine ends up too."""
    names = {}
    exec(compile("def total(numbers):\n    return numbers.sum()\n", "<nowhere>", "exec"), names)
    assert kernel(INT64_IN)(names["total"])(np.arange(5)) == 10


def test_where_the_package_cannot_be_written_the_users_cache_is(tmp_path):
    """A file in the place of __pycache__ keeps everybody out, root too."""
    package = tmp_path / "site" / "distributedlog"
    shutil.copytree(ROOM.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "records" / "__pycache__").write_text("")
    done = run(
        "from distributedlog.records.kernels_batches import count_batches\n"
        "import numpy as np\n"
        "print(count_batches.__module__, count_batches(np.zeros(9, np.uint8)))",
        PYTHONPATH=str(tmp_path / "site"),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        HOME=str(tmp_path / "home"),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert (done.stdout.strip(), done.stderr) == (f"{PREFIX}_batches (0, 0, True)", "")
    assert [path.suffix for path in (tmp_path / "cache").rglob("*count_batches*.nbi")] == [".nbi"]
