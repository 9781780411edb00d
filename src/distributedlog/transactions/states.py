"""The states of a transactional id, and which may follow which.

Two of them are never in the log: a transaction is in PREPARE_EPOCH_FENCE only within the step that aborts
it from outside, and an id that is DEAD has a tombstone.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    """By the numbers that Kafka's records have for them."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """The name that clients know."""
        return _LABELS[self]


_LABELS: Final = {
    state: "".join(word.capitalize() for word in state.name.split("_")) for state in TransactionState
}
STATES_BY_LABEL: Final[Mapping[str, TransactionState]] = {label: state for state, label in _LABELS.items()}

_EMPTY, _ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
_COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})

#: No transaction is open and none is being ended.
IDLE_STATES: Final = _COMPLETE | {_EMPTY}
#: The outcome is decided; what lacks are the markers.
PREPARED_STATES: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})

#: By each state those that it may follow. From the idle ones an abort leads on in transactions of version 2
#: only: the client may not know whether anything of its transaction has arrived (KIP-890).
PREDECESSORS: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    TransactionState.EMPTY: IDLE_STATES,
    TransactionState.ONGOING: IDLE_STATES | {_ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({_ONGOING}),
    TransactionState.PREPARE_ABORT: IDLE_STATES | {_ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: IDLE_STATES,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({_ONGOING}),
}


class IllegalTransition(AssertionError):
    """A bug: the coordinator wanted a step that the table does not allow."""


def check_transition(old: TransactionState, new: TransactionState) -> None:
    """IllegalTransition unless ``new`` may follow ``old``."""
    if old not in PREDECESSORS[new]:
        raise IllegalTransition(f"{new.label} may not follow {old.label}")
