"""[pure] Who a consumer is in its group: what a transactional producer needs to commit for it."""

from dataclasses import dataclass

NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """``generation_id`` is the member's epoch under the newer group protocol."""

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None
