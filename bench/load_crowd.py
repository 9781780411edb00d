"""A crowd that does little: `python -m bench.load_crowd BOOTSTRAP …` stays until its standard input ends.

Idle connections, and groups of one member each that commit once and send heartbeats.
"""

import argparse
import select
import sys

from bench.raw_client import RawClient
from distributedlog.wire.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from distributedlog.wire.k10_find_coordinator import FindCoordinatorRequest
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from distributedlog.wire.k12_heartbeat import HeartbeatRequest
from distributedlog.wire.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

OFFSET_COMMIT, FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, SYNC_GROUP = 8, 10, 11, 12, 14
VERSIONS = {OFFSET_COMMIT: 7, FIND_COORDINATOR: 3, JOIN_GROUP: 5, HEARTBEAT: 3, SYNC_GROUP: 3}
HEARTBEAT_SECONDS = 3.0
SESSION_TIMEOUT_MS = 45_000


class Member(RawClient):
    """The only member of its group."""

    def __init__(self, bootstrap: str, group_id: str, topic: str) -> None:
        super().__init__(bootstrap)
        self.group_id = group_id
        while self._ask(FIND_COORDINATOR, FindCoordinatorRequest(key=group_id)).error_code:
            pass
        joined = self._join("")
        joined = self._join(joined.member_id)  # the first answer only gives it a name
        if joined.error_code:
            raise RuntimeError(f"{group_id} could not be joined: {joined}")
        self.member_id, self.generation_id = joined.member_id, joined.generation_id
        assignment = SyncGroupRequestAssignment(self.member_id, b"all")
        self._expect(SYNC_GROUP, SyncGroupRequest(group_id, self.generation_id, self.member_id,
                                                  assignments=[assignment]))  # fmt: skip
        partition = OffsetCommitRequestPartition(0, 1)
        self._ask(OFFSET_COMMIT, OffsetCommitRequest(
            group_id, self.generation_id, self.member_id,
            topics=[OffsetCommitRequestTopic(topic, partitions=[partition])],
        ))  # fmt: skip

    def _join(self, member_id: str):  # type: ignore[no-untyped-def]
        protocols = [JoinGroupRequestProtocol("range", b"")]
        return self._ask(JOIN_GROUP, JoinGroupRequest(
            self.group_id, SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS, member_id,
            protocol_type="consumer", protocols=protocols,
        ))  # fmt: skip

    def heartbeat(self) -> None:
        self._expect(HEARTBEAT, HeartbeatRequest(self.group_id, self.generation_id, self.member_id))

    def _ask(self, api_key: int, message: object):  # type: ignore[no-untyped-def]
        return self.ask(api_key, VERSIONS[api_key], message)

    def _expect(self, api_key: int, message: object) -> None:
        response = self._ask(api_key, message)
        if response.error_code:
            raise RuntimeError(f"{self.group_id}: {response}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--groups", type=int, default=200)
    arguments = parser.parse_args()
    idle = [RawClient(arguments.bootstrap) for _ in range(arguments.connections)]
    members = [
        Member(arguments.bootstrap, f"crowd-{number}", arguments.topic) for number in range(arguments.groups)
    ]
    print("there", flush=True)
    pause = HEARTBEAT_SECONDS / max(len(members), 1)
    turn = 0
    while not select.select([sys.stdin], [], [], pause)[0]:
        if members:
            members[turn % len(members)].heartbeat()
            turn += 1
    for client in (*idle, *members):
        client.close()


if __name__ == "__main__":
    main()
