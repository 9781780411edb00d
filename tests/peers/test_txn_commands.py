"""`dlog txn` against Apache Kafka: the tests of tests/cli, with another broker."""

import pytest
from tests.cli.test_txn import *  # noqa: F403

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
