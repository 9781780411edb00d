"""Whatever a producer sends as a batch: it is stored whole and sound, or refused by a code that names it."""

import random

import pytest
from tests.broker.stage import NOW_MS, answer_of, context_of, id_of

from distributedlog.broker.handlers import k00_produce
from distributedlog.broker.pending import Pending
from distributedlog.records import (
    Compression,
    CorruptBatchError,
    encode_batch,
    validate_batch,
    validate_records,
    write_crc,
)
from distributedlog.wire import ErrorCode
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOPICS = {
    "plain": {},
    "small": {"max_message_bytes": 150, "message_timestamp_before_max_ms": 1000},
    "compacted": {"cleanup_policy": "compact"},
    "recompressed": {"compression_type": "lz4", "message_timestamp_type": "LogAppendTime"},
}
REFUSALS = {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


def some_batch(chance):
    keys = (None, b"", b"key")
    records = [
        (
            NOW_MS + chance.randrange(-2000, 2000),
            chance.choice(keys),
            chance.randbytes(chance.randrange(40)),
            (),
        )
        for _ in range(chance.randrange(1, 5))
    ]
    producer = {}
    if chance.random() < 0.3:
        producer = {
            "producer_id": chance.randrange(20),
            "producer_epoch": chance.randrange(2),
            "base_sequence": chance.randrange(4),
            "is_transactional": chance.random() < 0.5,
        }
    return encode_batch(records, compression=chance.choice(list(Compression)), **producer)


def mutated(batch, chance):
    """The batch with something wrong in it; the CRC is made right again as a rule, to get further."""
    batch = bytearray(batch)
    for _ in range(chance.randrange(1, 4)):
        match chance.randrange(6):
            case 0:
                batch[chance.randrange(len(batch))] = chance.randrange(256)
            case 1:
                position = chance.randrange(min(61, len(batch)))
                batch[position] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                del batch[chance.randrange(len(batch)) :]
            case 3:
                batch += chance.randbytes(chance.randrange(1, 80))
            case 4:
                batch[8:12] = (len(batch) - 12).to_bytes(4, signed=True)
            case 5:
                batch[21:23] = chance.randrange(128).to_bytes(2)
        if not batch:
            return batch
    if (
        len(batch) >= 61
        and int.from_bytes(batch[8:12], signed=True) == len(batch) - 12
        and chance.random() < 0.9
    ):
        write_crc(batch)
    return batch


@pytest.mark.fuzz
def test_mutated_batches(stage, fuzz_cases):
    chance = random.Random(20)
    for topic, configs in TOPICS.items():
        stage.add(topic, **configs)
    answers = dict.fromkeys(REFUSALS | {ErrorCode.NONE}, 0)
    for _ in range(fuzz_cases(6000)):
        topic = chance.choice(list(TOPICS))
        batch = some_batch(chance)
        if chance.random() < 0.8:
            batch = mutated(batch, chance)
        log = stage.partitions.get(topic, 0).log
        end_before = log.log_end_offset
        data = [PartitionProduceData(0, memoryview(bytearray(batch)))]
        request = ProduceRequest(
            chance.choice((None, "t")), 1, 1000, [TopicProduceData("", id_of(topic), data)]
        )
        response = k00_produce.handle(stage, context_of(stage, 0, 13), request)
        if isinstance(response, Pending):
            stage.scheduler.run()
            response = answer_of(response)
        row = response.responses[0].partition_responses[0]
        answers[ErrorCode(row.error_code)] += 1
        if row.error_code:
            assert log.log_end_offset == end_before
    assert all(answers.values()), answers
    for topic in TOPICS:
        validate = validate_records if topic == "compacted" else validate_batch
        assert_sound(stage.partitions.get(topic, 0).log, validate)


def assert_sound(log, validate):
    """Every batch is sound, to its records where the broker looked at them; offsets have no gaps."""
    offset = 0
    while offset < log.log_end_offset:
        header = validate(log.read(offset, 1).read())
        assert header.base_offset == offset
        offset = header.next_offset


def test_a_count_that_its_compressed_records_do_not_have_is_found_where_the_broker_looks(stage):
    partition = stage.add(cleanup_policy="compact")
    batch = encode_batch([(NOW_MS, b"k", b"v", ())], compression=Compression.LZ4)
    batch[23:27] = (5).to_bytes(4)
    batch[57:61] = (6).to_bytes(4)
    write_crc(batch)
    with pytest.raises(CorruptBatchError):
        partition.append(batch, now_ms=NOW_MS)
