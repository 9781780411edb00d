"""A transactional producer made of raw requests: it sends what it is told to, right or wrong.

Client libraries refuse to do most of what a broker must refuse; this one does it. It speaks the versions of
one of three generations of clients, since the broker tells them apart by that:

``OLD``   what librdkafka and aiokafka send; they do not know TRANSACTION_ABORTABLE
``V1``    the newest requests before transactions v2: AddPartitionsToTxn before the first Produce
``V2``    KIP-890: Produce and TxnOffsetCommit add their partitions, EndTxn raises the epoch
"""

import time
from collections import Counter
from dataclasses import dataclass, field

from distributedlog.records import encode_batch
from distributedlog.wire import ErrorCode
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k10_find_coordinator import FindCoordinatorRequest
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest
from distributedlog.wire.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from distributedlog.wire.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from distributedlog.wire.k26_end_txn import EndTxnRequest
from distributedlog.wire.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

PRODUCE, FIND_COORDINATOR, INIT_PRODUCER_ID = 0, 10, 22
ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = 24, 25, 26, 28
GROUP_KEY_TYPE, TRANSACTION_KEY_TYPE = 0, 1


@dataclass(frozen=True)
class Generation:
    """The versions that clients of one age speak, by API."""

    produce: int
    init_producer_id: int
    add_partitions: int
    add_offsets: int
    end_txn: int
    txn_offset_commit: int

    @property
    def is_v2(self):
        return self.end_txn >= 5


OLD = Generation(
    produce=7, init_producer_id=4, add_partitions=0, add_offsets=0, end_txn=1, txn_offset_commit=3
)
V1 = Generation(
    produce=11, init_producer_id=5, add_partitions=3, add_offsets=4, end_txn=4, txn_offset_commit=4
)
V2 = Generation(
    produce=12, init_producer_id=5, add_partitions=3, add_offsets=4, end_txn=5, txn_offset_commit=5
)
GENERATIONS = {"old": OLD, "v1": V1, "v2": V2}

#: What passes by itself: the coordinator is being made or loaded, or still ends the transaction before.
PASSING = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
DEADLINE_SECONDS = 60


def patiently(ask, passing=PASSING):
    """The first answer whose error code (`ask` returns it first) is none of those that pass."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        answer = ask()
        code = answer[0] if isinstance(answer, tuple) else answer
        if code not in passing:
            return answer
        assert time.monotonic() < deadline, f"{ErrorCode(code).name} did not pass"


def find_coordinator(client, key, key_type=TRANSACTION_KEY_TYPE):
    """Ask until there is one: the first question makes the coordinator's topic."""
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])

    def ask():
        [found] = client.ask(FIND_COORDINATOR, 4, request).coordinators
        return found.error_code

    code = patiently(ask)
    assert code == 0, ErrorCode(code).name


@dataclass
class RawProducer:
    """What a producer knows; tests may change any of it, to be wrong. `client` is a raw blocking one."""

    client: object
    transactional_id: str
    generation: Generation = V2
    timeout_ms: int = 60_000
    producer_id: int = -1
    epoch: int = -1
    sequences: Counter = field(default_factory=Counter)

    def init(self, *, keep=False):
        """InitProducerId; with `keep` as the producer that it is (KIP-360), else as a new one."""
        request = InitProducerIdRequest(self.transactional_id, self.timeout_ms)
        if keep:
            request.producer_id, request.producer_epoch = self.producer_id, self.epoch
        response = self.client.ask(INIT_PRODUCER_ID, self.generation.init_producer_id, request)
        if response.error_code == 0:
            self._become(response.producer_id, response.producer_epoch)
        return response.error_code

    def add(self, *partitions):
        """AddPartitionsToTxn; the error code of each partition."""
        topics = {}
        for topic, partition in partitions:
            topics.setdefault(topic, AddPartitionsToTxnTopic(topic)).partitions.append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=list(topics.values()),
        )
        response = self.client.ask(ADD_PARTITIONS, self.generation.add_partitions, request)
        return {
            (topic.name, result.partition_index): result.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        }

    def produce(self, topic, partition, *values, key=None, is_transactional=True):
        """Produce one batch; error code and base offset."""
        batch = encode_batch(
            [(time.time_ns() // 1_000_000, key, value, ()) for value in values],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequences[topic, partition],
            is_transactional=is_transactional,
        )
        data = TopicProduceData(topic, partition_data=[PartitionProduceData(partition, bytes(batch))])
        request = ProduceRequest(self.transactional_id, acks=-1, timeout_ms=30_000, topic_data=[data])
        response = self.client.ask(PRODUCE, self.generation.produce, request)
        [answer] = response.responses[0].partition_responses
        if answer.error_code == 0:
            self.sequences[topic, partition] += len(values)
        return answer.error_code, answer.base_offset

    def add_offsets(self, group):
        """AddOffsetsToTxn."""
        request = AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, group)
        return self.client.ask(ADD_OFFSETS, self.generation.add_offsets, request).error_code

    def commit_offsets(self, group, offsets, *, generation_id=-1, member_id="", group_instance_id=None):
        """TxnOffsetCommit of {(topic, partition): offset}; the error code of each."""
        topics = {}
        for (topic, partition), offset in offsets.items():
            of_topic = topics.setdefault(topic, TxnOffsetCommitRequestTopic(topic))
            of_topic.partitions.append(TxnOffsetCommitRequestPartition(partition, offset))
        request = TxnOffsetCommitRequest(
            self.transactional_id,
            group,
            self.producer_id,
            self.epoch,
            generation_id,
            member_id,
            group_instance_id,
            list(topics.values()),
        )
        response = self.client.ask(TXN_OFFSET_COMMIT, self.generation.txn_offset_commit, request)
        return {
            (topic.name, result.partition_index): result.error_code
            for topic in response.topics
            for result in topic.partitions
        }

    def end(self, *, committed):
        """EndTxn; a producer of transactions v2 goes on with the epoch that it is told."""
        response = self.client.ask(END_TXN, self.generation.end_txn, self.end_request(committed=committed))
        if response.error_code == 0 and self.generation.is_v2:
            self._become(response.producer_id, response.producer_epoch)
        return response.error_code

    def end_request(self, *, committed):
        return EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, committed)

    def _become(self, producer_id, epoch):
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = producer_id, epoch
            self.sequences.clear()
