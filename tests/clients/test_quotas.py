"""Quotas as clients feel them: the throttle time that they are told, and who is spared."""

import json

import pytest
from tests.broker_fire.asking import create_topic
from tests.clients import confluent_client
from tests.clients.face import DEADLINE_SECONDS, Record
from tests.server.processes import eventually

from distributedlog.wire.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlteredQuotaEntity,
    QuotaAlteration,
    QuotaOperation,
)

ALTER_CLIENT_QUOTAS = 49
#: A rate is measured over eleven samples of a second, of which ten count from the beginning.
BYTES_PER_SECOND = 10_000
#: Twice what ten seconds allow: held back for as long again.
TOO_MUCH = 20 * BYTES_PER_SECOND


@pytest.fixture
def limit(ask, topic):
    """Set a quota for clients that call themselves as the topic is called; it goes with the test."""

    def change(key, value, *, remove=False):
        alteration = QuotaAlteration(
            [AlteredQuotaEntity("client-id", topic)], [QuotaOperation(key, value, remove)]
        )
        response = ask.ask(ALTER_CLIENT_QUOTAS, 1, AlterClientQuotasRequest([alteration]))
        assert response.entries[0].error_code == 0, response
        changed.append((key, remove))

    changed = []
    yield change
    for key, _ in changed.copy():
        change(key, 0.0, remove=True)


class Throttles:
    """What librdkafka calls back with when a broker tells it to slow down."""

    def __init__(self):
        self.seconds = []

    def __call__(self, event):
        self.seconds.append(event.throttle_time)


def send(bootstrap, topic, client_id, size, throttles):
    producer = confluent_client.producer(
        bootstrap, **{"client.id": client_id, "linger.ms": 0, "throttle_cb": throttles}
    )
    for _ in range(size // 10_000):
        producer.produce(topic, bytes(10_000))
    assert producer.flush(DEADLINE_SECONDS) == 0
    return producer


def test_a_producer_above_its_quota_is_told_to_wait_and_others_are_not(limit, bootstrap, ask, topic):
    create_topic(ask, topic)
    limit("producer_byte_rate", BYTES_PER_SECOND)
    throttles, others = Throttles(), Throttles()
    producer = send(bootstrap, topic, topic, TOO_MUCH, throttles)
    eventually(lambda: producer.poll(0.01) or throttles.seconds)
    # Nobody is held back for longer than it takes until the whole is within the quota.
    assert 0 < max(throttles.seconds) <= TOO_MUCH / BYTES_PER_SECOND
    send(bootstrap, topic, "somebody else", TOO_MUCH, others).poll(0)
    assert others.seconds == []


def test_a_consumer_above_its_quota_is_told_to_wait(limit, bootstrap, ask, topic):
    create_topic(ask, topic)
    confluent_client.produce(bootstrap, topic, [Record(bytes(10_000))] * (TOO_MUCH // 10_000))
    limit("consumer_byte_rate", BYTES_PER_SECOND)
    throttles = Throttles()
    settings = {"client.id": topic, "throttle_cb": throttles, "fetch.max.bytes": 100_000,
                "message.max.bytes": 100_000, "max.partition.fetch.bytes": 100_000}  # fmt: skip
    consumer = confluent_client.consumer(bootstrap, topic, **settings)
    consumer.subscribe([topic])
    eventually(lambda: (consumer.poll(0.01) and False) or throttles.seconds)
    consumer.close()
    assert 0 < max(throttles.seconds) <= TOO_MUCH / BYTES_PER_SECOND


def test_who_asks_too_much_is_told_to_wait(limit, bootstrap, ask, topic):
    """The quota of requests is in percent of a thread's time."""
    create_topic(ask, topic)
    limit("request_percentage", 0.01)
    throttles = Throttles()
    producer = confluent_client.producer(
        bootstrap, **{"client.id": topic, "linger.ms": 0, "throttle_cb": throttles}
    )

    def is_told():
        producer.produce(topic, b"v")
        producer.flush(DEADLINE_SECONDS)
        return throttles.seconds

    eventually(is_told)
    assert max(throttles.seconds) > 0


def test_statistics_of_librdkafka_show_the_throttling(limit, bootstrap, ask, topic):
    create_topic(ask, topic)
    limit("producer_byte_rate", BYTES_PER_SECOND)
    seen = []

    def note(text):
        seen.extend(each["throttle"]["max"] for each in json.loads(text)["brokers"].values())

    producer = confluent_client.producer(
        bootstrap,
        **{"client.id": topic, "linger.ms": 0, "statistics.interval.ms": 50, "stats_cb": note},
    )
    for _ in range(TOO_MUCH // 10_000):
        producer.produce(topic, bytes(10_000))
    eventually(lambda: (producer.poll(0.01) and False) or any(seen))
    producer.purge()
    producer.flush(DEADLINE_SECONDS)
