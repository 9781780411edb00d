"""What the coordinator looks after when a timer fires."""

from enum import Enum
from typing import Final, NamedTuple


class TimerKind(Enum):
    ABORT = "abort timed-out transactions"
    EXPIRE = "expire transactional ids"
    MARKERS = "markers"
    ANSWER = "answer to EndTxn"


class TimerKey(NamedTuple):
    """Whose timer it is; the coordinator's own have no id."""

    kind: TimerKind
    transactional_id: str = ""


ABORT: Final = TimerKey(TimerKind.ABORT)
EXPIRE: Final = TimerKey(TimerKind.EXPIRE)


def markers_key(transactional_id: str) -> TimerKey:
    """When what lacks of an id's markers is tried again."""
    return TimerKey(TimerKind.MARKERS, transactional_id)


def answer_key(transactional_id: str) -> TimerKey:
    """When an EndTxn is answered though its markers are not written."""
    return TimerKey(TimerKind.ANSWER, transactional_id)
