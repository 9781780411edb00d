"""What a user writes for `process`: a class with a state and timers for each key.

class Sessions(Handler):
    output = "user STRING, clicks INT"
    state = {"open": "clicks INT"}

    def on_records(self, key, records, state, timers):
        clicks = (state.get("open") or {"clicks": 0})["clicks"] + sum(1 for _ in records)
        state.put("open", clicks=clicks)
        timers.set(timers.now_ms + 30_000)
        return ()

    def on_timer(self, key, time_ms, state, timers):
        yield {"user": key[0], "clicks": state.get("open")["clicks"]}
        state.delete("open")
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol


class State(Protocol):
    """Named values of one key. What was not put, or was deleted, is None."""

    def get(self, name: str) -> dict[str, Any] | None: ...

    def put(self, name: str, **fields: Any) -> None: ...

    def delete(self, name: str) -> None: ...


class Timers(Protocol):
    """Timers of one key, by the moment in milliseconds; each fires once, when `now_ms` has passed it."""

    @property
    def now_ms(self) -> int:
        """The watermark, or with ``timers="processing"`` the wall clock, of this micro-batch."""
        ...

    def set(self, time_ms: int) -> None: ...

    def cancel(self, time_ms: int) -> None: ...

    def pending(self) -> list[int]: ...


class Handler:
    """One instance serves all keys of a part of the stream; what must last goes into `state`.

    It is pickled and sent to workers. Results are mappings with the names of `output`.
    """

    #: The columns of the results, as SQL.
    output: ClassVar[str]
    #: The named values of a key, each with its fields as SQL.
    state: ClassVar[Mapping[str, str]] = {}

    def on_records(
        self, key: tuple[Any, ...], records: Iterator[Mapping[str, Any]], state: State, timers: Timers
    ) -> Iterable[Mapping[str, Any]]:
        """The key's records of this micro-batch, in no certain order."""
        raise NotImplementedError

    def on_timer(
        self,
        key: tuple[Any, ...],
        time_ms: int,
        state: State,
        timers: Timers,
    ) -> Iterable[Mapping[str, Any]]:
        """A timer of this key has come."""
        return ()
