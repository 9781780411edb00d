from tests.broker.stage import NOW_MS, append_in_transaction, batch_of, call

from distributedlog.broker.handlers import k61_describe_producers
from distributedlog.wire import ErrorCode
from distributedlog.wire.k61_describe_producers import DescribeProducersRequest, DescribeProducersTopic


def describe(stage, *indexes):
    request = DescribeProducersRequest([DescribeProducersTopic("orders", list(indexes))])
    return call(stage, k61_describe_producers, 61, 0, request).topics[0].partitions


def test_producers_of_a_partition(stage):
    partition = stage.add()
    for number, producer_id in enumerate((11, 12)):
        batch = batch_of(
            b"a",
            b"b",
            producer_id=producer_id,
            producer_epoch=3,
            base_sequence=5,
            is_transactional=number == 1,
        )
        append_in_transaction(partition, batch)
    first, second = describe(stage, 0)[0].active_producers
    assert (first.producer_id, first.producer_epoch, first.last_sequence) == (11, 3, 6)
    assert (first.last_timestamp, first.coordinator_epoch) == (NOW_MS, -1)
    assert (first.current_txn_start_offset, second.current_txn_start_offset) == (-1, 2)


def test_a_partition_without_producers_and_one_that_is_not_there(stage):
    stage.add()
    good, missing = describe(stage, 0, 1)
    assert (good.error_code, good.active_producers) == (0, [])
    assert (missing.partition_index, missing.error_code) == (1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert missing.error_message
