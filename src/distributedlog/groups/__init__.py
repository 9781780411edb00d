"""Consumer groups: a coordinator without io.

`GroupCoordinator` is what the broker drives; `Context` and `Outcome` are how.
"""

from distributedlog.coordination import Context, Reply, Timer
from distributedlog.groups.config import GroupConfig, GroupOverrides, MigrationPolicy
from distributedlog.groups.coordinator import GroupCoordinator
from distributedlog.groups.outcome import Outcome, Transaction
from distributedlog.groups.topics import Topic, TopicsImage

__all__ = [
    "Context",
    "GroupConfig",
    "GroupCoordinator",
    "GroupOverrides",
    "MigrationPolicy",
    "Outcome",
    "Reply",
    "Timer",
    "Topic",
    "TopicsImage",
    "Transaction",
]
