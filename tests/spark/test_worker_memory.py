import gc
import sys

import pytest

from distributedlog.spark import worker_memory


@pytest.fixture
def program(monkeypatch):
    """Say which program this process is; what is frozen thaws afterwards."""
    monkeypatch.setattr(worker_memory, "_is_settled", False)
    yield lambda path: monkeypatch.setattr(sys, "argv", [path])
    gc.unfreeze()


def test_a_worker_freezes_what_it_has_loaded_once(program):
    program("/lib/pyspark/daemon.py")
    before = gc.get_freeze_count()
    worker_memory.settle()
    frozen = gc.get_freeze_count()
    assert frozen > before + 1_000
    later = [[] for _ in range(10)]
    worker_memory.settle()  # what is made from now on must be found when it is garbage
    assert gc.get_freeze_count() == frozen
    assert later


@pytest.mark.parametrize("path", ["/usr/bin/pytest", "/home/me/daemon.py", ""])
def test_other_processes_are_left_alone(program, path):
    program(path)
    before = gc.get_freeze_count()
    worker_memory.settle()
    assert gc.get_freeze_count() == before
