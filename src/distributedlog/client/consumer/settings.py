"""[pure] A consumer's options under Kafka's names."""

from typing import Any, Final

from distributedlog.client.consumer.assignors import ASSIGNORS
from distributedlog.client.errors import InvalidOption
from distributedlog.client.options import Options, option

AT_MOST_ONCE: Final = "at_most_once"
AT_LEAST_ONCE: Final = "at_least_once"
READ_COMMITTED: Final = "read_committed"
INT32_MAX: Final = 2**31 - 1

#: How much is fetched ahead of a partition, where that is not set.
PREFETCH_BYTES: Final = 4 * 1024 * 1024
TABLE_PREFETCH_BYTES: Final = 16 * 1024 * 1024


class ConsumerSettings(Options):
    """As in Kafka's own consumer. What is added:

    ``delivery`` says when offsets are committed. ``at_least_once``: those of records that were handed out
    before the current call of `poll`, which is what ``enable_auto_commit`` does too. ``at_most_once``:
    before records are handed out, at the price of a round trip for each `poll`.

    ``prefetch_bytes`` bounds what is fetched ahead of `poll`: a partition that has so much waiting is not
    asked for more, so it holds at most this and one ``max_partition_fetch_bytes``. Unless it is set it is
    4 MiB, and 16 MiB from the first `poll_table` on: records are taken fastest while they are in the
    processor's cache, tables while there is always something to decode. When all partitions
    together have ``buffer_memory`` waiting, only those are asked for more that have nothing.

    ``partition_assignment_strategy`` is a name of `ASSIGNORS`, or several, the preferred one first.
    """

    group_id: str | None = None
    group_instance_id: str | None = None
    group_protocol: str = option(default="classic", choices=("classic", "consumer"))
    group_remote_assignor: str | None = None
    partition_assignment_strategy: Any = ("range", "cooperative-sticky")
    session_timeout_ms: int = option(default=45_000, least=1)
    heartbeat_interval_ms: int = option(default=3_000, least=1)
    max_poll_interval_ms: int = option(default=300_000, least=1)
    max_poll_records: int = option(default=500, least=1)
    fetch_min_bytes: int = option(default=1, least=0, most=INT32_MAX)
    fetch_max_wait_ms: int = option(default=500, least=0, most=INT32_MAX)
    fetch_max_bytes: int = option(default=50 * 1024 * 1024, least=1, most=INT32_MAX)
    max_partition_fetch_bytes: int = option(default=1024 * 1024, least=1, most=INT32_MAX)
    prefetch_bytes: int | None = option(default=None, least=1)
    buffer_memory: int = option(default=64 * 1024 * 1024, least=1)
    enable_auto_commit: bool | None = None
    auto_commit_interval_ms: int = option(default=5_000, least=0)
    auto_offset_reset: str = option(default="latest", choices=("earliest", "latest", "none"))
    isolation_level: str = option(default="read_uncommitted", choices=("read_uncommitted", READ_COMMITTED))
    allow_auto_create_topics: bool = True
    check_crcs: bool = True
    exclude_internal_topics: bool = True
    client_rack: str = ""
    key_deserializer: Any = None
    value_deserializer: Any = None
    delivery: str | None = option(default=None, choices=(None, AT_MOST_ONCE, AT_LEAST_ONCE))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.group_id == "":
            raise InvalidOption("group_id is empty; give it a name or leave it out")
        for name in ("enable_auto_commit", "delivery", "group_instance_id"):
            if getattr(self, name) and self.group_id is None:
                raise InvalidOption(f"{name} needs a group_id: offsets are committed for a group")
        if self.delivery is not None and self.enable_auto_commit is not None:
            raise InvalidOption(
                f"delivery={self.delivery!r} says already when offsets are committed: leave "
                "enable_auto_commit out, or set it without delivery"
            )
        if self.group_protocol == "classic" and self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise InvalidOption(
                f"heartbeat_interval_ms is {self.heartbeat_interval_ms}; it must be less than "
                f"session_timeout_ms={self.session_timeout_ms}, best a third of it"
            )
        for name in self.assignors:
            if name not in ASSIGNORS:
                raise InvalidOption(
                    f"there is no assignor {name!r}; partition_assignment_strategy takes "
                    f"{', '.join(ASSIGNORS)}"
                )

    @property
    def assignors(self) -> tuple[str, ...]:
        """The names of the assignors, the preferred one first."""
        given = self.partition_assignment_strategy
        names = (given,) if isinstance(given, str) else tuple(given)
        if not names:
            raise InvalidOption("partition_assignment_strategy is empty; name an assignor or leave it out")
        return names

    @property
    def is_read_committed(self) -> bool:
        return self.isolation_level == READ_COMMITTED

    @property
    def is_committed_first(self) -> bool:
        return self.delivery == AT_MOST_ONCE

    @property
    def is_auto_commit(self) -> bool:
        """Whether what was handed out is committed without being asked for."""
        if self.group_id is None or self.is_committed_first:
            return False
        return self.enable_auto_commit is not False or self.delivery == AT_LEAST_ONCE
