"""The fixtures of the crash tests serve here too."""

from tests.log.crash.conftest import memory_path

__all__ = ["memory_path"]
