"""[pure] A member of a classic group, as its leader sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.client.metadata import TopicPartition


@dataclass(frozen=True, slots=True)
class Subscriber:
    """What it wants, and what it has had since `generation`."""

    member_id: str
    topics: frozenset[str]
    instance_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1

    @property
    def place(self) -> tuple[bool, str]:
        """Static members first, in the order of their instance ids; then the others by member id."""
        return self.instance_id is None, self.instance_id or self.member_id
