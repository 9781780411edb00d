"""`dlog txn` against Apache Kafka: the tests of tests/cli, with another broker."""

import pytest
from tests.cli.test_txn import *  # noqa: F403
from tests.transactions_fire.raw_producer import V1, RawProducer, find_coordinator, patiently

from kafka_peer import KafkaBroker


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    """Without the verification of KIP-890, so that a transaction can be made to hang as it once could."""
    settings = {"transaction.partition.verification.enable": "false"}
    with KafkaBroker(tmp_path_factory.mktemp("txn"), **settings) as broker:
        yield broker


@pytest.fixture
def bootstrap(kafka):
    return kafka.bootstrap


@pytest.fixture
def hang(client):
    """Write a record of a transaction that the coordinator knows nothing of."""

    def make(topic, partition):
        producer = RawProducer(client, f"hanging-{topic}", V1)
        find_coordinator(client, producer.transactional_id)
        assert patiently(producer.init) == 0
        code, _ = producer.produce(topic, partition, b"1")
        assert code == 0
        return producer

    return make
