"""Writing and compiling generated Python.

The decoder and the encoder of a message are Python functions that this package writes for one version
of one message. Their source is kept in `linecache`, so that a traceback, a profiler and ``inspect``
show generated lines like any others.
"""

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    """Lines of a function in the making, and the constants that they name."""

    def __init__(self, constants: dict[str, Any]) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._names_taken = 0
        self.constants = constants

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines written inside stand one level deeper, below ``head``."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, stem: str) -> str:
        """A variable that no other part of the function uses."""
        self._names_taken += 1
        return f"{stem}_{self._names_taken}"

    def constant(self, stem: str, value: object) -> str:
        """Make a value known to the function; the same value gets the same name."""
        name, number = stem, 1
        while name in self.constants and self.constants[name] is not value:
            number += 1
            name = f"{stem}_{number}"
        self.constants[name] = value
        return name

    def compile(self, function_name: str, file_name: str) -> Callable[..., Any]:
        """Turn the lines into the function of this name."""
        text = "\n".join(self._lines) + "\n"
        linecache.cache[file_name] = (len(text), None, text.splitlines(keepends=True), file_name)
        exec(compile(text, file_name, "exec"), self.constants)
        function: Callable[..., Any] = self.constants[function_name]
        return function
