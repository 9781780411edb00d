"""Everything that one coordinator holds, passed to the functions that act on it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from distributedlog.coordination import TimerBook
from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.groups.config import GroupConfig
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.errors import GroupError
from distributedlog.groups.offset_store import OffsetStore
from distributedlog.groups.outcome import TimerKey
from distributedlog.groups.topics import TopicsImage
from distributedlog.wire.error_codes import ErrorCode

Group = ClassicGroup | ConsumerGroup


@dataclass(slots=True)
class CoordinatorState:
    """Hard state (``groups``, ``offsets``: what replay builds) and soft state (the rest).

    ``staged`` holds classic groups whose first record is on its way: replaying that record puts them in
    place. Until then they are seen by nobody, and a failed append only has to forget them.
    """

    config: GroupConfig
    new_id: Callable[[], str]
    image: TopicsImage = field(default_factory=TopicsImage)
    groups: dict[str, Group] = field(default_factory=dict)
    staged: dict[str, ClassicGroup] = field(default_factory=dict)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    timers: TimerBook[TimerKey] = field(default_factory=TimerBook)
    #: The version of the last image that brought topics which were not there before.
    new_topics_version: int = 0

    def group(self, group_id: str) -> Group:
        """The group, of either protocol."""
        group = self.groups.get(group_id)
        if group is None:
            raise GroupError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def classic_group(self, group_id: str) -> ClassicGroup:
        """The group, if it is a classic one."""
        group = self.group(group_id)
        if not isinstance(group, ClassicGroup):
            raise GroupError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group.")
        return group

    def consumer_group(self, group_id: str) -> ConsumerGroup:
        """The group, if it is one of the new protocol."""
        group = self.group(group_id)
        if not isinstance(group, ConsumerGroup):
            raise GroupError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        return group
