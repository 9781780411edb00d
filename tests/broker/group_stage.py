"""A whole broker with a topic, and requests of groups to it in a few words."""

from tests.broker.broker_stage import BrokerStage
from tests.groups.clients import subscription

from distributedlog.broker.coordinator_log import partition_for
from distributedlog.wire.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
)
from distributedlog.wire.k10_find_coordinator import FindCoordinatorRequest
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from distributedlog.wire.k12_heartbeat import HeartbeatRequest
from distributedlog.wire.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from distributedlog.wire.k19_create_topics import CreatableTopic, CreateTopicsRequest
from distributedlog.wire.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from distributedlog.wire.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

SESSION_MS = 10_000
#: Version 9 of OffsetCommit and OffsetFetch names topics by name; from 10 on they have ids.
BY_NAME = 9


class GroupStage(BrokerStage):
    """``__consumer_offsets`` has three partitions, and is there when ``prepared``."""

    def __init__(self, path, *, prepared=True, topics=("orders",), configs=None, **options):
        super().__init__(path, configs={"offsets.topic.num.partitions": "3", **(configs or {})}, **options)
        for name in topics:
            self.create(name)
        if prepared:
            self.find()

    def create(self, name, partitions=2):
        request = CreateTopicsRequest([CreatableTopic(name, partitions, 1)])
        assert [topic.error_code for topic in self.ask(19, request).topics] == [0]

    def delete(self, name):
        request = DeleteTopicsRequest([DeleteTopicState(name)])
        assert [topic.error_code for topic in self.ask(20, request).responses] == [0]

    def find(self, *keys, key_type=0):
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys or ("group",)))
        return self.ask(10, request).coordinators

    def partition_of(self, group):
        topic = self.image.topics_by_name["__consumer_offsets"]
        return self.broker.partitions.get("__consumer_offsets", partition_for(group, len(topic.partitions)))

    # the classic protocol

    def join(self, group="group", member_id="", instance=None):
        protocols = [JoinGroupRequestProtocol("range", subscription("orders"))]
        request = JoinGroupRequest(group, SESSION_MS, SESSION_MS, member_id, instance, "consumer", protocols)
        return self.send(11, request)

    def sync(self, group, generation, member_id, assignments=()):
        plan = [SyncGroupRequestAssignment(*one) for one in assignments]
        return self.send(14, SyncGroupRequest(group, generation, member_id, None, "consumer", "range", plan))

    def stable_member(self, group="group"):
        """A group with one member; its id."""
        waiting = self.join(group)
        self.scheduler.run()
        member_id = waiting.responses[0].member_id
        joining = self.join(group, member_id)
        self.scheduler.advance(3_000)
        generation = joining.responses[0].generation_id
        syncing = self.sync(group, generation, member_id, [(member_id, b"all")])
        self.scheduler.run()
        assert syncing.responses[0].assignment == b"all"
        return member_id

    def beat(self, group, member_id, generation=1):
        return self.ask(12, HeartbeatRequest(group, generation, member_id)).error_code

    # the consumer protocol

    def consumer_beat(self, group, member_id, epoch, topics=None):
        request = ConsumerGroupHeartbeatRequest(
            group,
            member_id,
            epoch,
            rebalance_timeout_ms=SESSION_MS if epoch == 0 else -1,
            subscribed_topic_names=topics,
            topic_partitions=[] if epoch == 0 else None,
        )
        return self.ask(68, request)

    # offsets

    def send_commit(
        self, group="group", offset=1, *, topic="orders", partition=0, member_id="", generation=-1
    ):
        partitions = [OffsetCommitRequestPartition(partition, offset, -1, "note")]
        topics = [OffsetCommitRequestTopic(topic, partitions=partitions)]
        return self.send(8, OffsetCommitRequest(group, generation, member_id, None, topics=topics), BY_NAME)

    def commit(self, *args, **options):
        waiting = self.send_commit(*args, **options)
        self.scheduler.run()
        return commit_error(waiting)

    def fetch(self, *groups, topic="orders"):
        """The response's groups, asked for partition 0 of a topic."""
        asked = [
            OffsetFetchRequestGroup(
                group, topics=[OffsetFetchRequestGroupTopic(topic, partition_indexes=[0])]
            )
            for group in groups
        ]
        return self.ask(9, OffsetFetchRequest(groups=asked), BY_NAME).groups

    def committed(self, group="group", topic="orders"):
        return self.fetch(group, topic=topic)[0].topics[0].partitions[0].committed_offset


def commit_error(waiting):
    return waiting.responses[0].topics[0].partitions[0].error_code
