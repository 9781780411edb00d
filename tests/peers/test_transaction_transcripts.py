"""The transcripts of tests/transactions_fire against Apache Kafka: what stands in them is what it answers."""

import pytest
from tests.transactions_fire.transcript import all_blocks, play_block

from kafka_peer import KafkaBroker

BLOCKS = list(all_blocks())


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    timeouts = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}
    with KafkaBroker(tmp_path_factory.mktemp("transcripts"), **timeouts) as broker:
        yield broker.port


@pytest.mark.parametrize("lines", [lines for _, lines in BLOCKS], ids=[name for name, _ in BLOCKS])
def test_transcript(port, lines):
    assert play_block(port, lines) == lines
