"""Our own client as a member of groups; what else it does is tested in tests/client."""

from tests.clients.face import HEARTBEAT_MS, RETRY_MS, Seen

from distributedlog import Consumer


class Member(Seen):
    def __init__(self, bootstrap, membership):
        super().__init__()
        options = {"group_instance_id": membership.instance_id}
        if membership.is_new_protocol:
            options |= {"group_protocol": "consumer", "group_remote_assignor": membership.assignor}
        else:
            options["partition_assignment_strategy"] = membership.assignor or "range"
        self._consumer = Consumer(
            bootstrap,
            group_id=membership.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=membership.session_timeout_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            fetch_max_wait_ms=50,
            retry_backoff_ms=RETRY_MS,
            metadata_max_age_ms=100,
            **options,
        )
        self._consumer.subscribe(membership.topics, pattern=membership.pattern, on_assigned=self._assigned)

    def _assigned(self, _):
        self.assignments += 1

    def turn(self):
        for record in self._consumer.poll(0.02):
            self.records.append((record.topic, record.partition, record.offset, record.value))

    @property
    def partitions(self):
        return set(self._consumer.assignment())

    def commit(self, offsets, metadata=""):
        """``offsets`` by (topic, partition)."""
        self._consumer.commit({place: (offset, metadata) for place, offset in offsets.items()})

    def committed(self, topic, partition):
        """(offset, metadata), or None where nothing was committed."""
        found = self._consumer.committed([(topic, partition)]).get((topic, partition))
        return None if found is None else (found.offset, found.metadata)

    def close(self):
        self._consumer.close()
