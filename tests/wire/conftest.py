"""The kio process that all tests of a run share."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest


class KioOracle:
    """Asks kio in its process; an answer, or an AssertionError with kio's own traceback."""

    def __init__(self, process):
        self._process = process
        self._descriptions = {}

    def ask(self, *question):
        pickle.dump(question, self._process.stdin)
        self._process.stdin.flush()
        kind, answer = pickle.load(self._process.stdout)
        assert kind == "answer", f"kio: {question}\n{answer}"
        return answer

    def describe(self, name, version, kind):
        """The fields of a message as kio declares them."""
        key = (name, version, kind)
        if key not in self._descriptions:
            self._descriptions[key] = self.ask("describe", *key)
        return self._descriptions[key]

    def versions(self, name):
        """``{version: (API key, is flexible)}``."""
        return self.ask("versions", name)

    def error_codes(self):
        """``{code: (name, is retriable)}``."""
        return self.ask("error codes")

    def encode_and_decode(self, name, version, kind, tree, data):
        """The bytes that kio makes of a tree; the tree that it reads from bytes, and how many it took.

        One question, for the way to the other process and back costs as much as the answer.
        """
        return self.ask("encode and decode", name, version, kind, tree, data)


@pytest.fixture(scope="session")
def kio():
    worker = Path(__file__).with_name("kio_worker.py")
    with subprocess.Popen(
        [sys.executable, str(worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield KioOracle(process)
        process.stdin.close()
        process.wait(timeout=10)
