"""Each batch whole and once, whatever is killed: the driver, its workers, the broker, or seemingly nothing.

SPARK_FIRE_KILLS says how many (6 unless told, 30 for the long run), SPARK_FIRE_SEED which schedule.
"""

import os

import pytest
from tests.checkers.check import check, report
from tests.server.processes import Process
from tests.spark_fire.fire import PARTITIONS, burning

KILLS = int(os.environ.get("SPARK_FIRE_KILLS", "6"))
SEED = int(os.environ.get("SPARK_FIRE_SEED", "1"))


class OurBroker:
    """`dlog start`, which can be killed and comes back on the same data."""

    def __init__(self, directory, advertised_port):
        self._directory = directory
        self._arguments = (
            *("--data", str(directory / "data"), "--listen", "127.0.0.1:0"),
            *("--set", f"advertised.listeners=127.0.0.1:{advertised_port}"),
            *("--set", f"num.partitions={PARTITIONS}"),
            *("--set", "offsets.topic.num.partitions=1"),
            *("--set", "transaction.state.log.num.partitions=1"),
        )
        self._process = None

    @property
    def port(self):
        return self._process.port

    def start(self):
        self._process = Process(*self._arguments, cwd=self._directory).wait_ready()

    def kill(self):
        if self._process is not None:
            popen = self._process.popen
            popen.kill()
            popen.wait()
            popen.stdout.close()
            popen.stderr.close()


@pytest.mark.timeout(120 + 60 * KILLS)
def test_each_batch_whole_and_once_whatever_is_killed():
    with burning(OurBroker) as fire:
        fire.run(SEED, KILLS)
        history = fire.history()
        assert fire.finished() > KILLS, "there were fewer batches than kills"
    findings = check(history)
    assert not findings, f"seed {SEED}, {fire.done}:\n{report(findings)}"
