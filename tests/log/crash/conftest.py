"""Where the staged crashes take place."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def memory_path(tmp_path):
    """A directory in memory where the system has one: these tests make tens of thousands of files, and
    what would reach a disk is theirs to say."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    directory = Path(tempfile.mkdtemp(prefix="dlog-test-", dir="/dev/shm"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)
