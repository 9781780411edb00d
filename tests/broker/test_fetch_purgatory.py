"""No waiting fetch is lost or answered twice, none waits when it has enough, none has more than there is."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.broker.stage import NOW_MS, Stage, append_in_transaction, batch_of, id_of

from distributedlog.broker.fetch_plan import FetchPlan, FetchTarget
from distributedlog.log import AppendOrigin
from distributedlog.records import ControlType, build_control_batch

TOPICS = ("a", "b", "c")
POLICIES = {"a": "os", "b": "ack", "c": "interval"}


class Waiting:
    """A fetch of the model: what it asked for, and what came of it."""

    def __init__(self, plan, asked_ms):
        self.plan = plan
        self.asked_ms = asked_ms
        self.readings = []
        self.pending = None
        self.is_abandoned = False

    @property
    def is_open(self):
        return not self.readings and not self.is_abandoned


class PurgatoryMachine(RuleBasedStateMachine):
    @initialize()
    def set_up(self):
        self.folder = tempfile.TemporaryDirectory()
        self.stage = Stage(Path(self.folder.name) / "data")
        for topic in TOPICS:
            self.stage.add(topic, flush=POLICIES[topic])
        self.waiting = []
        self.sequence = 0
        self.open_transaction = False

    def teardown(self):
        if hasattr(self, "stage"):
            for one in self.waiting:
                assert len(one.readings) <= 1
            self.stage.waiting_fetches.close()
            assert not any(one.is_open for one in self.waiting)
            assert all(not partition.watchers for partition in self.stage.partitions)
            self.stage.directory.abandon()
            self.folder.cleanup()

    def partition(self, topic):
        return self.stage.partitions.get(topic, 0)

    @rule(
        topics=st.sets(st.sampled_from(TOPICS), min_size=1),
        back=st.integers(0, 3),
        min_bytes=st.integers(1, 2000),
        max_bytes=st.integers(1, 5000),
        wait_ms=st.integers(1, 100),
        isolation=st.integers(0, 1),
    )
    def fetch(self, topics, back, min_bytes, max_bytes, wait_ms, isolation):
        targets = []
        for topic in sorted(topics):
            partition = self.partition(topic)
            offset = 0 if partition is None else max(partition.log.log_end_offset - back, 0)
            targets.append(FetchTarget(topic, id_of(topic), 0, offset, 1 << 20))
        plan = FetchPlan(
            self.stage.partitions,
            targets,
            version=18,
            max_wait_ms=wait_ms,
            min_bytes=min(min_bytes, max_bytes),
            max_bytes=max_bytes,
            isolation_level=isolation,
        )
        reading = plan.read()
        if reading.is_final or reading.size >= plan.min_bytes:
            return
        one = Waiting(plan, self.stage.scheduler.now_ms())
        one.pending = self.stage.waiting_fetches.wait(plan, reading, one.readings.append)
        self.waiting.append(one)

    @rule(topic=st.sampled_from(TOPICS), size=st.integers(0, 1500))
    def append(self, topic, size):
        if self.partition(topic) is not None:
            self.partition(topic).append(batch_of(bytes(size)), now_ms=NOW_MS)

    @rule(size=st.integers(0, 1500))
    def append_in_transaction(self, size):
        producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": self.sequence}
        batch = batch_of(bytes(size), is_transactional=True, **producer)
        append_in_transaction(self.partition("a"), batch)
        self.sequence += 1
        self.open_transaction = True

    @precondition(lambda self: self.open_transaction)
    @rule(control_type=st.sampled_from([ControlType.COMMIT, ControlType.ABORT]))
    def end_transaction(self, control_type):
        marker = build_control_batch(control_type, NOW_MS, producer_id=7, producer_epoch=0)
        self.partition("a").append(marker, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)
        self.open_transaction = False

    @rule(duration_ms=st.integers(0, 60))
    def let_time_pass(self, duration_ms):
        self.stage.scheduler.advance(duration_ms)

    @rule()
    def run(self):
        self.stage.scheduler.run()

    @rule(data=st.data())
    def abandon(self, data):
        still_open = [one for one in self.waiting if one.is_open]
        if still_open:
            one = data.draw(st.sampled_from(still_open))
            one.is_abandoned = True
            one.pending.abandon()

    @precondition(lambda self: self.partition("c") is not None)
    @rule()
    def delete_a_topic(self):
        self.stage.delete("c")

    @invariant()
    def each_is_answered_at_most_once(self):
        if hasattr(self, "stage"):
            for one in self.waiting:
                assert len(one.readings) <= (0 if one.is_abandoned else 1)
                assert one.pending.is_done != one.is_open
            assert len(self.stage.waiting_fetches) == sum(one.is_open for one in self.waiting)

    @invariant()
    def who_has_enough_or_has_waited_long_enough_is_answered_when_nothing_is_due(self):
        if not hasattr(self, "stage") or self.stage.scheduler.soon or self.stage.scheduler.work:
            return
        now_ms = self.stage.scheduler.now_ms()
        for one in self.waiting:
            if one.is_open:
                assert now_ms < one.asked_ms + one.plan.max_wait_ms
                assert one.plan.read().size < one.plan.min_bytes

    @invariant()
    def only_who_waits_watches(self):
        if hasattr(self, "stage"):
            still_open = sum(len(one.plan.targets) for one in self.waiting if one.is_open)
            watched = sum(len(partition.watchers) for partition in self.stage.partitions)
            assert watched <= still_open


TestPurgatory = PurgatoryMachine.TestCase
TestPurgatory.settings = settings(max_examples=60, stateful_step_count=40)
