"""Our broker gives the answers that Apache Kafka gave; tests/peers asks Kafka whether it still does."""

import pytest
from tests.server.processes import dlog_start
from tests.transactions_fire.transcript import all_blocks, play_block

BLOCKS = list(all_blocks())
SETTINGS = {
    "log.flush": "os",
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 50,
}


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    settings = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    path = tmp_path_factory.mktemp("transcripts")
    with dlog_start("--listen", "127.0.0.1:0", *settings, cwd=path) as process:
        yield process.wait_ready().port


@pytest.mark.parametrize("lines", [lines for _, lines in BLOCKS], ids=[name for name, _ in BLOCKS])
def test_transcript(port, lines):
    assert play_block(port, lines) == lines


def test_there_are_transcripts():
    assert len(BLOCKS) > 60
