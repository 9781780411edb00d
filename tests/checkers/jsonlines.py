"""A history as a file: one event a line, a JSON object with the event's type under "type".

Each process of a run appends to a file of its own; a line is in the hands of the operating system before
the next thing is done, so that a process that is killed has told all it did. `load` puts the files together
by time.
"""

import json
import os
import threading
import time
from dataclasses import fields
from itertools import chain

from tests.checkers.events import EVENT_TYPES, InvalidHistory

_TYPES = {kind.__name__: kind for kind in EVENT_TYPES}
_FIELDS = {kind: tuple(field.name for field in fields(kind)) for kind in EVENT_TYPES}


def now():
    """The clock of all processes of one machine."""
    return time.monotonic_ns()


def to_line(event):
    kind = type(event)
    content = {"type": kind.__name__}
    for name in _FIELDS[kind]:
        value = getattr(event, name)
        if value is not None:
            content[name] = value
    return json.dumps(content, separators=(",", ":"))


def of_line(line):
    try:
        content = json.loads(line)
        kind = _TYPES[content.pop("type")]
        if "records" in content:
            content["records"] = {
                partition: [(offset, value) for offset, value in records]
                for partition, records in content["records"].items()
            }
        return kind(**content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidHistory(f"{line[:200]!r} is no event: {type(error).__name__}: {error}") from None


def save(path, history):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(to_line(event) + "\n" for event in history)


def load(*paths):
    """All events of these files by their time, without a last line that was cut by a kill."""
    return sorted(chain.from_iterable(map(_load_one, paths)), key=lambda event: event.time)


def _load_one(path):
    with open(path, encoding="utf-8") as file:
        return [of_line(line) for line in file if line.endswith("\n")]


class Recorder:
    """Where one process writes down what it does: `record(Sent, partition, value, offset)`.

    With a `path` each event is a line of that file at once; `events` has them all in any case.
    """

    def __init__(self, process, path=None):
        self.process = process
        self.events = []
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if path else None

    def record(self, kind, *arguments, time=None, **named):
        event = kind(now() if time is None else time, self.process, *arguments, **named)
        with self._lock:
            self.events.append(event)
            if self._file is not None:
                os.write(self._file, (to_line(event) + "\n").encode())
        return event

    def close(self):
        if self._file is not None:
            os.close(self._file)
            self._file = None
