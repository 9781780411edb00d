"""What comes out of the group coordinator, beyond what every coordinator's outcome has
(`distributedlog.coordination.outcome`, where the contract with the driver is written).

Records are appended inside of ``Outcome.transaction`` where there is one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from distributedlog import coordination
from distributedlog.wire.values.offsets_topic import OffsetsKey, encode_offsets_key, encode_offsets_value


class TimerKind(Enum):
    """What is to be looked after when a timer fires."""

    CLASSIC_SESSION = "classic session"
    CLASSIC_JOIN = "classic join"
    CLASSIC_SYNC = "classic sync"
    CONSUMER_SESSION = "consumer session"
    CONSUMER_REBALANCE = "consumer rebalance"
    CONSUMER_JOIN = "consumer join"
    CONSUMER_SYNC = "consumer sync"
    REGEX = "regex"
    EXPIRY = "expiry"


class TimerKey(NamedTuple):
    """Whose timer it is; a group's own has no member, the coordinator's own no group either."""

    kind: TimerKind
    group_id: str = ""
    member_id: str = ""


class Change(NamedTuple):
    """One record to append, not yet encoded. A value of None deletes the key."""

    key: OffsetsKey
    value: Any = None
    version: int | None = None


class Transaction(NamedTuple):
    """The producer on whose behalf records are written."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


@dataclass(slots=True)
class Outcome(coordination.Outcome[TimerKey]):
    """All effects of one call."""

    changes: list[Change] = field(default_factory=list)
    transaction: Transaction | None = None

    @property
    def records(self) -> list[tuple[bytes, bytes | None]]:
        """The changes as they are to be appended, encoded when asked for."""
        return list(self._encoded())

    def _encoded(self) -> Iterator[tuple[bytes, bytes | None]]:
        for key, value, version in self.changes:
            yield (
                encode_offsets_key(key),
                None if value is None else encode_offsets_value(value, version),
            )
