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

    def encode(self, name, version, kind, tree):
        """The bytes that kio makes of a tree."""
        return self.ask("encode", name, version, kind, tree)

    def decode(self, name, version, kind, data):
        """The tree that kio reads from bytes, and how many of them it took."""
        return self.ask("decode", name, version, kind, data)


@pytest.fixture(scope="session")
def kio():
    worker = Path(__file__).with_name("kio_worker.py")
    with subprocess.Popen(
        [sys.executable, str(worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield KioOracle(process)
        process.stdin.close()
        process.wait(timeout=10)
