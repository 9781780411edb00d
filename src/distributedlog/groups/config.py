"""The coordinator's settings, under Kafka's names with dots turned into underscores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

ASSIGNORS: Final = ("uniform", "range")
GROUP_SIZE_UNLIMITED: Final = 2**31 - 1


class MigrationPolicy(Enum):
    """Which way a group with members may go between the protocols. An empty one always may."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        """From classic to consumer."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def downgrades(self) -> bool:
        """From consumer to classic."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)


@dataclass(frozen=True, slots=True)
class GroupOverrides:
    """The settings that a group may have of its own (config resource GROUP); None takes the broker's."""

    consumer_session_timeout_ms: int | None = None
    consumer_heartbeat_interval_ms: int | None = None
    consumer_assignment_interval_ms: int | None = None


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Kafka 4's settings and defaults."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = GROUP_SIZE_UNLIMITED
    #: A newcomer whose JoinGroup still waits after this time is dropped; a constant in Kafka.
    new_member_join_timeout_ms: int = 300_000

    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_assignment_interval_ms: int = 1_000
    group_consumer_max_size: int = GROUP_SIZE_UNLIMITED
    #: The first is the default for groups whose members name none.
    group_consumer_assignors: tuple[str, ...] = ASSIGNORS
    group_consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    group_consumer_regex_refresh_interval_ms: int = 600_000

    offset_metadata_max_bytes: int = 4_096
    offsets_retention_minutes: int = 7 * 24 * 60
    offsets_retention_check_interval_ms: int = 600_000

    overrides: Mapping[str, GroupOverrides] = field(default_factory=dict)

    @property
    def offsets_retention_ms(self) -> int:
        """``offsets.retention.minutes`` in milliseconds."""
        return self.offsets_retention_minutes * 60_000

    def consumer_session_timeout_ms(self, group_id: str) -> int:
        """How long a member of the new protocol may be silent."""
        override = self.overrides.get(group_id)
        if override is not None and override.consumer_session_timeout_ms is not None:
            return override.consumer_session_timeout_ms
        return self.group_consumer_session_timeout_ms

    def consumer_heartbeat_interval_ms(self, group_id: str) -> int:
        """How often a member of the new protocol is told to speak up."""
        override = self.overrides.get(group_id)
        if override is not None and override.consumer_heartbeat_interval_ms is not None:
            return override.consumer_heartbeat_interval_ms
        return self.group_consumer_heartbeat_interval_ms

    def consumer_assignment_interval_ms(self, group_id: str) -> int:
        """The least time between two target assignments of a group."""
        override = self.overrides.get(group_id)
        if override is not None and override.consumer_assignment_interval_ms is not None:
            return override.consumer_assignment_interval_ms
        return self.group_consumer_assignment_interval_ms
