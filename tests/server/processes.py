"""`dlog start` as a process of its own, for tests."""

import contextlib
import os
import re
import select
import socket
import subprocess
import sys
import time

from distributedlog.wire import decode_response, encode_request
from readiness import is_readable

DEADLINE_SECONDS = 60
READY = re.compile(r"distributedlog is ready on (\S+):(\d+)\n")


class Process:
    """A broker that is starting, or runs."""

    def __init__(self, *arguments, cwd, environment=()):
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "distributedlog.cli.main", "start", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **dict(environment)},
            text=True,
        )
        self.port = None

    def ready_line(self):
        assert is_readable(self.popen.stdout, DEADLINE_SECONDS), "no ready line"
        return self.popen.stdout.readline()

    def wait_ready(self):
        line = self.ready_line()
        match = READY.fullmatch(line)
        assert match, (line, self.popen.stderr.read() if not line else "")
        self.port = int(match[2])
        return self

    def end(self):
        """Wait for the end: exit code, the rest of standard output, and standard error."""
        stdout, stderr = self.popen.communicate(timeout=DEADLINE_SECONDS)
        return self.popen.returncode, stdout, stderr


@contextlib.contextmanager
def dlog_start(*arguments, cwd, environment=()):
    process = Process(*arguments, cwd=cwd, environment=environment)
    try:
        yield process
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
        process.popen.wait()
        process.popen.stdout.close()
        process.popen.stderr.close()


class Client:
    """A blocking client of raw requests."""

    def __init__(self, port, host="127.0.0.1"):
        self._socket = socket.create_connection((host, port), timeout=DEADLINE_SECONDS)
        self._correlation_id = 0

    def ask(self, api_key, version, message):
        self.send(api_key, version, message)
        return self.receive(api_key, version)

    def send(self, api_key, version, message):
        self._correlation_id += 1
        self._socket.sendall(encode_request(api_key, version, self._correlation_id, "test", message))

    def receive(self, api_key, version):
        size = int.from_bytes(self._exactly(4))
        correlation_id, response = decode_response(api_key, version, self._exactly(size))
        assert correlation_id == self._correlation_id
        return response

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            received = self._socket.recv(count - len(data))
            assert received, "the broker closed the connection"
            data += received
        return data

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()


def eventually(ask):
    """The first true answer, asked for again and again until the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        answer = ask()
        if answer:
            return answer
        assert time.monotonic() < deadline, "it did not come true in time"
        select.select([], [], [], 0.01)
