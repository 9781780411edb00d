"""Questions about transactions by raw requests, as administrators and other brokers ask them."""

from dataclasses import dataclass

from tests.broker_fire.asking import METADATA
from tests.server.processes import eventually
from tests.transactions_fire.raw_producer import PASSING, patiently

from distributedlog.client.committed_records import readable_batches
from distributedlog.wire import ErrorCode
from distributedlog.wire.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from distributedlog.wire.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from distributedlog.wire.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from distributedlog.wire.k20_delete_topics import DeleteTopicsRequest
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from distributedlog.wire.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from distributedlog.wire.k61_describe_producers import DescribeProducersRequest, DescribeProducersTopic
from distributedlog.wire.k65_describe_transactions import DescribeTransactionsRequest

FETCH, LIST_OFFSETS, OFFSET_FETCH, JOIN_GROUP, SYNC_GROUP, DELETE_TOPICS = 1, 2, 9, 11, 14, 20
ADD_PARTITIONS, WRITE_MARKERS, DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS = 24, 27, 61, 65
LATEST, NO_REPLICA, READ_COMMITTED = -1, -1, 1

#: What Kafka says of a topic that it has just made.
NO_LEADER_YET = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})


def describe(client, transactional_id):
    """What the coordinator knows of a transactional id."""

    def ask():
        request = DescribeTransactionsRequest([transactional_id])
        [found] = client.ask(DESCRIBE_TRANSACTIONS, 0, request).transaction_states
        return found.error_code, found

    return patiently(ask)[1]


def state_of(client, transactional_id):
    return describe(client, transactional_id).transaction_state


def producers(client, topic, partition):
    """The producers of which a partition has state; the error's name where there is none."""
    request = DescribeProducersRequest([DescribeProducersTopic(topic, [partition])])
    [answer] = client.ask(DESCRIBE_PRODUCERS, 0, request).topics[0].partitions
    if answer.error_code:
        return ErrorCode(answer.error_code).name
    return sorted(answer.active_producers, key=lambda each: each.producer_id)


def add_batched(producer, partitions, *, verify_only):
    """AddPartitionsToTxn as brokers send it for many transactions; the error code of each partition."""
    topics = {}
    for topic, partition in partitions:
        topics.setdefault(topic, AddPartitionsToTxnTopic(topic)).partitions.append(partition)
    transaction = AddPartitionsToTxnTransaction(
        producer.transactional_id, producer.producer_id, producer.epoch, verify_only, list(topics.values())
    )
    response = producer.client.ask(ADD_PARTITIONS, 5, AddPartitionsToTxnRequest([transaction]))
    assert response.error_code == 0, response
    [result] = response.results_by_transaction
    return {
        (topic.name, each.partition_index): each.partition_error_code
        for topic in result.topic_results
        for each in topic.results_by_partition
    }


def write_markers(producer, partitions, *, committed, coordinator_epoch, version=1, transaction_version=0):
    """WriteTxnMarkers, as coordinators and `dlog txn abort` send it; the error code of each partition."""
    topics = {}
    for topic, partition in partitions:
        topics.setdefault(topic, WritableTxnMarkerTopic(topic)).partition_indexes.append(partition)
    marker = WritableTxnMarker(
        producer.producer_id,
        producer.epoch,
        committed,
        list(topics.values()),
        coordinator_epoch,
        transaction_version,
    )
    response = producer.client.ask(WRITE_MARKERS, version, WriteTxnMarkersRequest([marker]))
    return {
        (topic.name, each.partition_index): each.error_code
        for topic in response.markers[0].topics
        for each in topic.partitions
    }


def latest(client, topic, partition, *, is_read_committed=False):
    """The end of a partition, or its last stable offset."""
    topics = [ListOffsetsTopic(topic, [ListOffsetsPartition(partition, -1, LATEST)])]
    request = ListOffsetsRequest(NO_REPLICA, int(is_read_committed), topics)

    def ask():
        [answer] = client.ask(LIST_OFFSETS, 7, request).topics[0].partitions
        return answer.error_code, answer.offset

    code, offset = patiently(ask, NO_LEADER_YET)
    assert code == 0, ErrorCode(code).name
    return offset


def read_committed(client, topic, partition):
    """The values that a reader of committed data gets now, the last stable offset, and the end."""
    records, stable, end = committed_records(client, topic, partition)
    return [value for _, value in records], stable, end


def committed_records(client, topic, partition, start=0):
    """The same with (offset, value), from an offset on."""
    found, offset = [], start
    while True:
        wanted = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=10_000_000)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=50_000_000,
            isolation_level=READ_COMMITTED,
            topics=[FetchTopic(topic, partitions=[wanted])],
        )
        [answer] = client.ask(FETCH, 11, request).responses[0].partitions
        assert answer.error_code == 0, answer
        data = bytes(answer.records or b"")
        if not data:
            assert offset == answer.last_stable_offset, "nothing came from before the last stable offset"
            return found, answer.last_stable_offset, answer.high_watermark
        aborted = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()]
        for records, next_offset in readable_batches(data, aborted):
            found += [(record.offset, record.value) for record in records if record.offset >= offset]
            offset = next_offset


def committed_offset(client, group, topic, partition, *, require_stable):
    """A group's committed offset; the error's name where the coordinator refuses to tell it."""
    request = OffsetFetchRequest(
        group, [OffsetFetchRequestTopic(topic, [partition])], require_stable=require_stable
    )

    def ask():
        response = client.ask(OFFSET_FETCH, 7, request)
        if response.error_code:
            return response.error_code, -1
        [answer] = response.topics[0].partitions
        return answer.error_code, answer.committed_offset

    code, offset = patiently(ask)
    return ErrorCode(code).name if code else f"{offset}"


@dataclass
class Member:
    member_id: str
    generation_id: int


def join(client, group):
    """Become the one member of a classic group."""
    request = JoinGroupRequest(
        group, 30_000, 30_000, protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", b"")]
    )

    def ask():
        response = client.ask(JOIN_GROUP, 7, request)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            request.member_id = response.member_id
        return response.error_code, response

    code, joined = patiently(ask, PASSING | {ErrorCode.MEMBER_ID_REQUIRED})
    assert code == 0, ErrorCode(code).name
    plan = [SyncGroupRequestAssignment(joined.member_id, b"")]
    request = SyncGroupRequest(group, joined.generation_id, joined.member_id, assignments=plan)
    response = client.ask(SYNC_GROUP, 3, request)
    assert response.error_code == 0, response
    return Member(joined.member_id, joined.generation_id)


def delete_topic(client, topic):
    """Delete, and wait until the broker does not know it any more."""
    request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000)
    [result] = client.ask(DELETE_TOPICS, 4, request).responses
    assert result.error_code == 0, result

    def is_gone():
        request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        [found] = client.ask(METADATA, 9, request).topics
        return found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    eventually(is_gone)
