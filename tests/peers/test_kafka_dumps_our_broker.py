"""Kafka's DumpLogSegments on what a broker of ours has left, the coordinators' topics included."""

import signal

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.clients import confluent_client
from tests.clients.face import Record
from tests.server.processes import dlog_start

from kafka_peer import complaints, dump_log_segments, dumped_records

GROUPS = ("classic", "consumer")
PER_CODEC = 20_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SETTINGS = {
    "log.segment.bytes": "1048576",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.enable": "false",
}


def use(bootstrap):
    """Records in every codec, both kinds of groups, transactions. What must then be in the topic `orders`."""
    values = []
    for codec in CODECS:
        made = [Record(b"%s-%d-" % (codec.encode(), n) * 20, b"%d" % n) for n in range(PER_CODEC)]
        confluent_client.produce(bootstrap, "orders", made, codec=codec)
        values += [record.value.decode() for record in made]
    for protocol in GROUPS:
        settings = {"bootstrap.servers": bootstrap, "group.id": protocol, "group.protocol": protocol}
        consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        consumer.subscribe(["orders"])
        assert consumer.poll(60).error() is None
        places = [TopicPartition("orders", 0, offset, "metadata") for offset in (1, 2, 3)]
        for place in places:
            consumer.commit(offsets=[place], asynchronous=False)
        consumer.close()
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "dumped"})
    producer.init_transactions(60)
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce("paid", b"one")
        producer.flush(60)
        end(60)
    return values


@pytest.fixture(scope="module", params=["stopped", "killed"])
def left(request, tmp_path_factory):
    """The data directory of a broker that was used, and what was written."""
    directory = tmp_path_factory.mktemp(request.param)
    settings = [f"--set={name}={value}" for name, value in SETTINGS.items()]
    with dlog_start("--data", "data", "--listen", "127.0.0.1:0", *settings, cwd=directory) as process:
        process.wait_ready()
        values = use(f"127.0.0.1:{process.port}")
        process.popen.send_signal(signal.SIGTERM if request.param == "stopped" else signal.SIGKILL)
        process.popen.wait(60)
    if request.param == "killed":
        recover(directory, settings)
    return directory / "data", values


def recover(directory, settings):
    with dlog_start("--data", "data", "--listen", "127.0.0.1:0", *settings, cwd=directory) as process:
        process.wait_ready()
        process.popen.send_signal(signal.SIGTERM)
        process.popen.wait(60)


def test_records_of_every_codec_in_several_segments(left):
    data, values = left
    assert len(list((data / "orders-0").glob("*.log"))) > 1
    dumped = dump_log_segments(data / "orders-0")
    assert complaints(dumped) == []
    records = dumped_records(dumped.stdout)
    assert [record.value for record in records] == values
    assert [record.offset for record in records] == list(range(len(values)))


def test_consumer_offsets(left):
    """Kafka's own decoder names group, partition, offset and metadata of each record."""
    dumped = dump_log_segments(left[0] / "__consumer_offsets-0", "--offsets-decoder")
    assert complaints(dumped) == []
    assert "unable to decode" not in dumped.stdout.lower()
    for group in GROUPS:
        for offset in (1, 2, 3):
            assert f'"group":"{group}","topic":"orders","partition":0' in dumped.stdout
            assert f'"offset":{offset}' in dumped.stdout
    assert '"metadata":"metadata' in dumped.stdout  # confluent-kafka commits the zero at its end too
    # Its type, and what is known of the members, the assignment and the epoch of the new protocol.
    for kind in ("OFFSET_COMMIT", "GROUP_METADATA", "CONSUMER_GROUP_METADATA"):
        assert kind in dumped.stdout or f'"type":"{_number(kind)}"' in dumped.stdout, kind


def _number(kind):
    return {"OFFSET_COMMIT": "1", "GROUP_METADATA": "2", "CONSUMER_GROUP_METADATA": "3"}[kind]


def test_transaction_state(left):
    dumped = dump_log_segments(left[0] / "__transaction_state-0", "--transaction-log-decoder")
    assert complaints(dumped) == []
    assert '"transactionalId":"dumped"' in dumped.stdout
    assert "unable to decode" not in dumped.stdout.lower()


def test_transactions_with_their_index_and_markers(left):
    dumped = dump_log_segments(left[0] / "paid-0")
    assert complaints(dumped) == []
    assert [(record.value, record.marker) for record in dumped_records(dumped.stdout)] == [
        ("one", None), (None, "ABORT"), ("one", None), (None, "COMMIT"),
    ]  # fmt: skip
