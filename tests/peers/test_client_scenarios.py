"""The scenarios of the client room against Apache Kafka: it is Kafka's client, and not only ours."""

import pytest
from tests.client.scenarios.administering import *  # noqa: F403
from tests.client.scenarios.consuming import *  # noqa: F403
from tests.client.scenarios.processing import *  # noqa: F403
from tests.client.scenarios.producing import *  # noqa: F403
from tests.client.scenarios.sending_tables import *  # noqa: F403
from tests.client.scenarios.sharing import *  # noqa: F403
from tests.client.scenarios.transacting import *  # noqa: F403

from kafka_peer import KafkaBroker

#: Groups here have members that are heard of often, so that what happens to them is noticed soon.
SETTINGS = {
    "auto_create_topics_enable": "true",
    "group_min_session_timeout_ms": "100",
    "group_consumer_heartbeat_interval_ms": "100",
    "group_consumer_min_heartbeat_interval_ms": "100",
    "group_consumer_session_timeout_ms": "2000",
    "group_consumer_min_session_timeout_ms": "1000",
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"), **SETTINGS)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def servers(kafka):
    return kafka.bootstrap


@pytest.mark.parametrize(
    "scenario",
    [
        test_what_a_block_writes_is_there_together_or_not_at_all,  # noqa: F405
        test_many_records_of_many_transactions,  # noqa: F405
        test_a_second_producer_fences_the_first,  # noqa: F405
        test_a_refused_record_makes_the_transaction_abort_and_the_next_one_works,  # noqa: F405
        test_offsets_are_committed_with_the_transaction_or_not_at_all,  # noqa: F405
    ],
)
def test_transactions_of_the_older_protocol(servers, topic, scenario, monkeypatch):
    """Kafka takes clients that do not know transactions v2 (KIP-890), and so does this one clusters."""
    monkeypatch.setattr("distributedlog.client.producer.transaction_manager._V2", 99)
    scenario(servers, topic)
