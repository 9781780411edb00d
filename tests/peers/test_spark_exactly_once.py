"""The Spark sink's exactly-once against Apache Kafka, with the same kills as against our own broker.

SPARK_FIRE_KILLS says how many (10 unless told), SPARK_FIRE_SEED which schedule.
"""

import os

import pytest
from tests.checkers.check import check, report
from tests.spark_fire.fire import PARTITIONS, burning

from kafka_peer import KafkaBroker

KILLS = int(os.environ.get("SPARK_FIRE_KILLS", "10"))
SEED = int(os.environ.get("SPARK_FIRE_SEED", "2"))


def kafka(directory, advertised_port):
    return KafkaBroker(
        directory / "kafka",
        advertised_listeners=f"PLAINTEXT://127.0.0.1:{advertised_port}",
        num_partitions=PARTITIONS,
        # A broker that was killed counts as there until its session ends; its next life waits for that.
        broker_session_timeout_ms=2000,
        broker_heartbeat_interval_ms=200,
    )


@pytest.mark.timeout(120 + 60 * KILLS)
def test_each_batch_whole_and_once_whatever_is_killed():
    with burning(kafka) as fire:
        fire.run(SEED, KILLS)
        history = fire.history()
        assert fire.finished() > KILLS, "there were fewer batches than kills"
    findings = check(history)
    assert not findings, f"seed {SEED}, {fire.done}:\n{report(findings)}"
