import gc
import sys
from types import ModuleType, SimpleNamespace

import pytest

from distributedlog.spark import worker_process


@pytest.fixture
def main_module(monkeypatch):
    """A main module of the test's; what is frozen thaws afterwards."""
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.setattr(worker_process, "_is_settled", False)
    yield module
    gc.unfreeze()


def test_a_worker_freezes_what_it_has_loaded(main_module):
    main_module.__spec__ = SimpleNamespace(name="pyspark.daemon")
    before = gc.get_freeze_count()
    worker_process.settle()
    frozen = gc.get_freeze_count()
    assert frozen > before + 1_000
    kept = [[] for _ in range(10)]
    worker_process.settle()  # once is enough: later garbage must be found
    assert gc.get_freeze_count() == frozen
    assert kept


def test_other_processes_are_left_alone(main_module):
    before = gc.get_freeze_count()
    main_module.__spec__ = SimpleNamespace(name="pytest")
    worker_process.settle()
    assert gc.get_freeze_count() == before
