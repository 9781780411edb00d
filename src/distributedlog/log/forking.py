"""What a forked process must leave alone: the files that its parent writes [io].

After a fork parent and child share every open file, the lock among them, and each believes to know where
the log ends. Were the child to append, it would write over what its parent was acknowledged; were it to
close the log, it would leave the mark of a clean shutdown beside a log that is still being written. So in
a child whatever was open for writing is closed on the spot, without a write, and says so when it is used.
"""

import os
from typing import Protocol
from weakref import WeakSet


class HeldByOneProcess(Protocol):
    """Something that only the process may use that opened it."""

    def leave_to_parent(self) -> None:
        """Close without a trace: called in the child, where no other thread runs."""


_held: WeakSet[HeldByOneProcess] = WeakSet()


def hold(owner: HeldByOneProcess) -> None:
    """Have ``owner`` closed in every child; it need not say when it is closed itself."""
    _held.add(owner)


def _leave_all_to_parent() -> None:
    for owner in list(_held):
        owner.leave_to_parent()
    _held.clear()


os.register_at_fork(after_in_child=_leave_all_to_parent)
