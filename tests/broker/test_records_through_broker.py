"""Records through a whole `Broker`: topics made and deleted by requests, configured, restarted, killed."""

import pytest
from tests.broker.broker_stage import BrokerStage
from tests.broker.stage import batch_of, values_of

from distributedlog.broker.pending import CLOSE_CONNECTION
from distributedlog.wire import ErrorCode
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from distributedlog.wire.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from distributedlog.wire.k20_delete_topics import DeleteTopicsRequest
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest

PRODUCE, FETCH, CREATE_TOPICS, DELETE_TOPICS, INIT_PRODUCER_ID = 0, 1, 19, 20, 22


@pytest.fixture
def stage(tmp_path):
    made = BrokerStage(tmp_path / "data")
    yield made
    made.broker.directory.abandon()


def create(stage, name, **configs):
    wanted = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    topic = CreatableTopic(name, 1, 1, [], wanted)
    (row,) = stage.ask(CREATE_TOPICS, CreateTopicsRequest([topic], 1000)).topics
    assert row.error_code == 0, row.error_message


def request_of(name, batch, acks=-1):
    return ProduceRequest(
        None, acks, 1000, [TopicProduceData(name, partition_data=[PartitionProduceData(0, batch)])]
    )


def produce(stage, name, batch):
    return stage.ask(PRODUCE, request_of(name, batch), 12).responses[0].partition_responses[0]


def fetch(stage, name, offset=0):
    topic = FetchTopic(name, partitions=[FetchPartition(0, -1, offset, partition_max_bytes=1 << 20)])
    return stage.send(FETCH, FetchRequest(max_wait_ms=100, min_bytes=1, topics=[topic]), 12)


def values(stage, name):
    partition = stage.broker.partitions.get(name, 0)
    region = partition.log.read(0, 1 << 20, upper_offset=partition.log.high_watermark)
    return [] if region is None else values_of(region.read())


def test_what_was_acknowledged_is_there_after_a_restart_and_after_a_crash(stage):
    create(stage, "orders")
    assert produce(stage, "orders", batch_of(b"a")).base_offset == 0
    stage.restart()
    assert produce(stage, "orders", batch_of(b"b")).base_offset == 1
    stage.crash()
    assert values(stage, "orders") == [b"a", b"b"]
    assert produce(stage, "orders", batch_of(b"c")).base_offset == 2


def test_a_topics_configuration_is_its_logs(stage):
    create(stage, "orders", cleanup_policy="compact", max_message_bytes="200")
    assert produce(stage, "orders", batch_of(b"a")).error_code == ErrorCode.INVALID_RECORD
    assert produce(stage, "orders", batch_of(bytes(300), key=b"k")).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert produce(stage, "orders", batch_of(b"a", key=b"k")).error_code == 0


def test_a_deleted_topic_is_gone_for_all_and_its_name_is_free(stage):
    create(stage, "orders")
    produce(stage, "orders", batch_of(b"old"))
    waiting = fetch(stage, "orders", 1)
    assert not waiting.is_done
    assert (
        stage.ask(DELETE_TOPICS, DeleteTopicsRequest(topic_names=["orders"]), 5).responses[0].error_code == 0
    )
    (row,) = waiting.responses[0].responses[0].partitions
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(stage, "orders", batch_of(b"a")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    create(stage, "orders")
    assert produce(stage, "orders", batch_of(b"new")).base_offset == 0
    assert values(stage, "orders") == [b"new"]


def test_producer_ids_are_given_once_for_ever(stage):
    given = []
    for again in (stage.restart, stage.crash, lambda: None):
        given += [stage.ask(INIT_PRODUCER_ID, InitProducerIdRequest(None)).producer_id for _ in range(3)]
        again()
    assert len(set(given)) == 9


def test_sequences_are_known_after_a_restart_and_after_a_crash(stage):
    """Of a snapshot the last batch of each producer is known, as in Kafka."""
    create(stage, "orders")
    batches = [batch_of(b"%d" % n, producer_id=4, producer_epoch=0, base_sequence=n) for n in range(6)]

    def is_taken(number):
        row = produce(stage, "orders", batches[number])
        return (row.error_code, row.base_offset) == (0, number)

    assert all(is_taken(number) for number in (0, 1))
    stage.restart()
    assert produce(stage, "orders", batches[0]).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert all(is_taken(number) for number in (1, 2, 3, 2, 3))
    stage.crash()
    assert all(is_taken(number) for number in (3, 4, 3, 4))
    gap = batch_of(b"x", producer_id=4, producer_epoch=0, base_sequence=9)
    assert produce(stage, "orders", gap).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert values(stage, "orders") == [b"0", b"1", b"2", b"3", b"4"]


def test_closing_answers_those_who_wait(stage):
    create(stage, "orders")
    stage.scheduler.holds_threads = True
    produced = stage.send(PRODUCE, request_of("orders", batch_of(b"a")), 12)
    waiting = fetch(stage, "orders")
    stage.broker.close()
    assert produced.responses[0].responses[0].partition_responses[0].error_code == 0
    assert waiting.is_done


def test_acks_0_and_an_unknown_topic_close_the_connection(stage):
    assert stage.send(PRODUCE, request_of("nothing", batch_of(b"a"), acks=0), 12).responses == [
        CLOSE_CONNECTION
    ]
