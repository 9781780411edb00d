"""The short way of Produce gives what the long way gives, to the byte, or steps aside and leaves no trace."""

import random

import pytest
from tests.broker.broker_stage import BrokerStage

from distributedlog.broker.context import Client, RequestContext
from distributedlog.broker.dispatch import dispatch
from distributedlog.records import encode_batch
from distributedlog.wire import decode_request_header, encode_request, encode_response
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

PRODUCE, CREATE_TOPICS = 0, 19
TOPICS = {
    "plain": {},
    "compact": {"cleanup.policy": "compact"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "zipped": {"compression.type": "lz4"},
    "bounded": {"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "1000"},
    "small": {"max.message.bytes": "300"},
    "replicated": {"min.insync.replicas": "2"},
    "synced": {"flush": "ack"},
}
MUTATIONS = 400


class Pair:
    """Two brokers of the same history: one takes the short way where it can, the other never."""

    def __init__(self, path):
        configs = {"log.flush": "os", "log.segment.bytes": str(1024 * 1024)}
        self.short = BrokerStage(path / "short", configs=configs)
        self.long = BrokerStage(path / "long", configs=configs)
        self.short_answers = 0
        topics = [
            CreatableTopic(
                name, 2, -1, [], [CreatableTopicConfig(key, value) for key, value in settings.items()]
            )
            for name, settings in TOPICS.items()
        ]
        for stage in (self.short, self.long):
            response = stage.ask(CREATE_TOPICS, CreateTopicsRequest(topics, timeout_ms=1000))
            assert {each.error_code for each in response.topics} == {0}
        self.ids = {topic.name: topic.topic_id for topic in response.topics}

    def close(self):
        self.short.close()
        self.long.close()

    def send(self, frame):
        """Both brokers' answers, which must be the same; whether the short way gave it."""
        header = decode_request_header(frame)
        now_ms = self.short.scheduler.now_ms()
        data = self.short.broker.single_produce.answer(
            (ours := bytearray(frame)), header.body_position, header.api_version, now_ms
        )
        if data is None:
            assert ours == frame, "what the short way leaves to the long way it leaves as it was"
            data = answer(self.short, ours)
        else:
            self.short_answers += 1
        expected = answer(self.long, bytearray(frame))
        assert data == expected
        return data

    def logs_are_alike(self):
        for name in TOPICS:
            for index in range(2):
                one, other = (
                    stage.broker.partitions.get(name, index).log for stage in (self.short, self.long)
                )
                assert (one.log_end_offset, one.high_watermark) == (
                    other.log_end_offset,
                    other.high_watermark,
                )
                for a, b in zip(one.segments, other.segments, strict=True):
                    assert a.region(0, a.size).read() == b.region(0, b.size).read()


def answer(stage, frame):
    """The long way's response as bytes, or what went wrong before there could be one."""
    header = decode_request_header(frame)
    try:
        request, _ = header.api.request(header.api_version).decode(frame, header.body_position)
    except Exception as error:  # noqa: BLE001 - a connection would be closed for it
        return type(error).__name__
    client = Client(1, "127.0.0.1", 5000)
    context = RequestContext(client, "c", PRODUCE, header.api_version, stage.scheduler.now_ms())
    response = dispatch(stage.broker, context, request)
    if hasattr(response, "when_done"):
        done = []
        response.when_done(done.append)
        stage.scheduler.run()
        [response] = done
    if response is None or isinstance(response, str):
        return response
    return encode_response(PRODUCE, header.api_version, header.correlation_id, response)


@pytest.fixture
def pair(tmp_path):
    made = Pair(tmp_path)
    yield made
    made.close()


def batch(pair, *values, timestamp=None, key=b"k", **fields):
    now_ms = pair.short.scheduler.now_ms()
    return encode_batch([(timestamp or now_ms, key, value, ()) for value in values], **fields)


def frame_of(pair, topic, data, *, version=9, acks=-1, index=0, correlation_id=77, **fields):
    topic_id = pair.ids.get(topic, bytes(15) + b"x") if version >= 13 else bytes(16)
    name = "" if version >= 13 else topic
    row = TopicProduceData(name, topic_id, [PartitionProduceData(index, data)])
    request = ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[row], **fields)
    return bytearray(encode_request(PRODUCE, version, correlation_id, "client", request)[4:])


@pytest.mark.parametrize("version", range(9, 14))
@pytest.mark.parametrize("acks", [1, -1])
def test_a_plain_request_takes_the_short_way(pair, version, acks):
    for size in (0, 1, 50, 200, 20_000):
        pair.send(frame_of(pair, "plain", batch(pair, bytes(size)), version=version, acks=acks))
    assert pair.short_answers == 5
    pair.logs_are_alike()


def test_sequences_are_held_against_what_came_before(pair):
    """Duplicates and gaps: what one broker remembers the other does."""
    for sequence in (0, 1, 1, 3, 2):
        producer = {"producer_id": 5, "producer_epoch": 0, "base_sequence": sequence}
        pair.send(frame_of(pair, "plain", batch(pair, b"v", **producer)))
    assert pair.short_answers == 4
    pair.logs_are_alike()


def test_every_kind_of_topic_answers_alike(pair):
    now_ms = pair.short.scheduler.now_ms()
    for topic in (*TOPICS, "unknown", "__consumer_offsets"):
        for version in (8, 9, 12, 13):
            for data in (
                batch(pair, b"v"),
                batch(pair, b"v", key=None),
                batch(pair, bytes(1000)),
                batch(pair, b"v", timestamp=now_ms - 3_600_000),
                batch(pair, b"v", timestamp=now_ms + 7_200_000),
                batch(pair, bytes(20_000)),
                bytearray(),
            ):
                for index in (0, 1, 2):
                    pair.send(frame_of(pair, topic, data, version=version, index=index))
    assert pair.short_answers > 50
    pair.logs_are_alike()


def test_what_is_not_plain_is_left_to_the_long_way(pair):
    for frame in (
        frame_of(pair, "plain", batch(pair, b"v"), acks=0),
        frame_of(pair, "plain", batch(pair, b"v"), acks=7),
        frame_of(pair, "plain", batch(pair, b"v"), version=8),
        frame_of(pair, "synced", batch(pair, b"v")),
        frame_of(pair, "replicated", batch(pair, b"v")),
        frame_of(pair, "plain", batch(pair, b"v"), transactional_id="t"),
    ):
        pair.send(frame)
    assert pair.short_answers == 0
    pair.logs_are_alike()


@pytest.mark.parametrize("version", [9, 13])
def test_damaged_requests_are_answered_alike(pair, version):
    """Bytes changed, cut off and added anywhere: nothing but the long way's answer ever comes."""
    generator = random.Random(f"damage {version}")
    whole = frame_of(pair, "plain", batch(pair, b"some value"), version=version)
    body = decode_request_header(whole).body_position
    for _ in range(MUTATIONS):
        frame = bytearray(whole)
        for _ in range(generator.randint(1, 3)):
            frame[generator.randrange(body, len(frame))] = generator.randrange(256)
        match generator.randrange(4):
            case 0:
                del frame[generator.randrange(body, len(frame)) :]
            case 1:
                frame += generator.randbytes(generator.randint(1, 4))
        pair.send(frame)
    pair.logs_are_alike()


def test_a_log_that_cannot_be_written_is_told_of_by_the_long_way(pair):
    for stage in (pair.short, pair.long):
        stage.broker.partitions.get("plain", 0).log.fail(OSError(5, "Input/output error"))
    pair.send(frame_of(pair, "plain", batch(pair, b"v")))
    assert pair.short_answers == 0
    pair.logs_are_alike()
