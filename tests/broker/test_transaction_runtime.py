"""Transaction coordinators in a broker: their topic, the disk, restarts, markers, producer ids."""

import pytest
from tests.broker.transaction_stage import STATE_TOPIC, TransactionStage
from tests.log.faults.faulty_files import FailingSync, FullDisk
from tests.transactions.clients import add_request_v1, added, init_request

from distributedlog.broker import marker_writing
from distributedlog.records import iterate_records
from distributedlog.wire import ErrorCode
from distributedlog.wire.k10_find_coordinator import FindCoordinatorRequest
from distributedlog.wire.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from distributedlog.wire.k26_end_txn import EndTxnRequest
from distributedlog.wire.k27_write_txn_markers import WriteTxnMarkersResponse
from distributedlog.wire.k66_list_transactions import ListTransactionsRequest
from distributedlog.wire.values import decode_transaction_key

#: By partition, of three, in the order of their names.
IDS = {"t": 2, "billing": 1, "my-id": 0}


@pytest.fixture
def make(tmp_path):
    stages = []

    def made(**options):
        # Files that sync nothing: power is not lost here.
        options.setdefault("files", FullDisk())
        stages.append(TransactionStage(tmp_path / f"data{len(stages)}", **options))
        return stages[-1]

    yield made
    for stage in stages:
        stage.directory.abandon()


@pytest.fixture
def stage(make):
    return make()


# -- the topic ----------------------------------------------------------------------------------------------


def test_the_first_look_for_a_coordinator_makes_the_topic_as_kafka_does(make):
    stage = make(prepared=False, configs={"transaction.state.log.num.partitions": "50"})
    assert STATE_TOPIC not in stage.image.topics_by_name
    (found,) = stage.find("t", key_type=1)
    assert (found.error_code, found.key, found.node_id, found.host) == (0, "t", 1, "broker.test")
    topic = stage.image.topics_by_name[STATE_TOPIC]
    assert len(topic.partitions) == 50
    assert topic.configs == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": str(100 * 1024**2),
        "unclean.leader.election.enable": "false",
    }


def test_many_looks_at_once_make_one_topic(make):
    stage = make(prepared=False)
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=["t", "u"])
    waiting = [stage.send(10, request) for _ in range(3)]
    stage.scheduler.run()
    assert [[each.error_code for each in one.responses[0].coordinators] for one in waiting] == [[0, 0]] * 3


def test_an_id_is_written_to_the_partition_of_its_hash(stage):
    for name, index in IDS.items():
        before = stage.broker.partitions.get(STATE_TOPIC, index).log.log_end_offset
        stage.producer(transactional_id=name)
        log = stage.broker.partitions.get(STATE_TOPIC, index).log
        assert log.log_end_offset == before + 1
        (record,) = iterate_records(log.read(before, 1 << 20).read())
        assert decode_transaction_key(record.key).transactional_id == name


def test_without_the_topic_there_is_no_coordinator(make):
    stage = make(prepared=False)
    assert stage.ask(22, init_request(), 5).error_code == ErrorCode.NOT_COORDINATOR
    assert stage.ask(26, EndTxnRequest("t", 1, 0, True)).error_code == ErrorCode.NOT_COORDINATOR
    assert added(stage.ask(24, add_request_v1("t", 1, 0, "orders-0"), 3)) == ErrorCode.NOT_COORDINATOR
    assert [row.error_code for row in stage.describe("t")] == [ErrorCode.NOT_COORDINATOR]
    assert stage.listed() == {}
    assert _verified(stage, "t", 1, 0, [("orders", 0)]) == {("orders", 0): ErrorCode.NOT_COORDINATOR}


def test_a_deleted_state_topic_takes_its_ids_with_it(stage):
    producer = stage.producer()
    stage.delete(STATE_TOPIC)
    stage.scheduler.run()
    assert producer.add("orders-0") == ErrorCode.NOT_COORDINATOR
    stage.find("t", key_type=1)
    assert stage.listed() == {}
    assert producer.add("orders-0") == ErrorCode.INVALID_PRODUCER_ID_MAPPING


# -- a transaction ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_ends_in_markers(stage, version, committed):
    producer = stage.producer(version)
    assert producer.add("orders-0", "orders-1") == ErrorCode.NONE
    assert stage.state() == "Ongoing"
    assert producer.end(committed) == ErrorCode.NONE
    marker = (producer.producer_id, 1 if version == 2 else 0, "COMMIT" if committed else "ABORT")
    assert stage.markers("orders", 0) == stage.markers("orders", 1) == [marker]
    assert stage.state() == ("CompleteCommit" if committed else "CompleteAbort")
    figures = stage.broker.transactions.figures()
    assert figures == (0, 0, int(committed), int(not committed), 0)


def test_ids_are_given_once_for_ever(stage):
    assert [stage.producer(transactional_id=name).producer_id for name in IDS] == [0, 1, 2]
    stage.restart()
    assert stage.producer(transactional_id="another").producer_id == 1000


def test_open_transactions_are_counted(stage):
    stage.producer(transactional_id="t").add("orders-0")
    stage.producer(transactional_id="u").add("orders-0")
    assert stage.broker.transactions.figures().open == 2


# -- what waits for the disk --------------------------------------------------------------------------------


def test_an_id_is_given_when_the_disk_has_it(stage):
    stage.producer(transactional_id="before")  # which takes the block of producer ids
    stage.scheduler.holds_threads = True
    waiting = stage.send(22, init_request("t"), 5)
    stage.scheduler.run()
    assert not waiting.is_done
    stage.scheduler.run_threads()
    assert waiting.responses[0].error_code == 0


def test_markers_come_after_the_decision_is_on_the_disk_and_the_answer_after_them(stage):
    producer = stage.producer()
    producer.add("orders-0")
    stage.scheduler.holds_threads = True
    waiting = producer.send_end(True)
    stage.scheduler.run()
    assert stage.markers() == []
    stage.scheduler.run_threads()
    stage.scheduler.run()
    assert len(stage.markers()) == 1
    assert not waiting.is_done, "the marker is not on the disk yet"
    stage.scheduler.run_threads()
    stage.scheduler.run()
    assert waiting.responses[0].error_code == 0


def test_transactions_that_end_together_share_the_trips_to_the_disk(stage):
    producers = [stage.producer(transactional_id=f"id-{number}") for number in range(20)]
    for producer in producers:
        producer.add("orders-0")
    rounds = stage.broker.partitions.flush_runner.rounds
    waiting = [producer.send_end(True) for producer in producers]
    stage.scheduler.run()
    assert {each.responses[0].error_code for each in waiting} == {0}
    assert stage.broker.partitions.flush_runner.rounds <= rounds + 3, "decisions, markers, ends"


def test_with_the_policy_os_nothing_waits(make):
    stage = make(configs={"log.flush": "os"})
    producer = stage.producer()
    producer.add("orders-0")
    stage.scheduler.holds_threads = True
    assert producer.commit() == ErrorCode.NONE
    assert len(stage.markers()) == 1


# -- restarts -----------------------------------------------------------------------------------------------


def test_ids_epochs_and_open_transactions_survive(stage):
    producer = stage.producer()
    producer.add("orders-0")
    for bring_up in (stage.restart, stage.crash):
        bring_up()
        assert stage.state() == "Ongoing"
    assert producer.add("orders-1") == ErrorCode.NONE
    assert producer.commit() == ErrorCode.NONE
    assert len(stage.markers("orders", 0)) == len(stage.markers("orders", 1)) == 1


@pytest.mark.parametrize("committed", [True, False])
def test_a_decision_without_markers_is_finished_by_a_restart(stage, committed):
    producer = stage.producer()
    producer.add("orders-0", "orders-1")
    stage.scheduler.holds_threads = True
    waiting = producer.send_end(committed)
    stage.scheduler.run_threads()
    assert stage.markers() == []
    stage.crash()
    assert not waiting.is_done
    kind = "COMMIT" if committed else "ABORT"
    assert stage.markers("orders", 0) == stage.markers("orders", 1) == [(producer.producer_id, 1, kind)]
    assert stage.state() == f"Complete{kind.capitalize()}"
    assert producer.end(committed) == ErrorCode.NONE, "asked again"


def test_a_decision_that_was_not_on_the_disk_may_be_lost_but_not_half(stage):
    producer = stage.producer()
    producer.add("orders-0")
    stage.scheduler.holds_threads = True
    producer.send_end(True)
    stage.crash()
    # The process is gone and the machine is not: what was written is there.
    assert stage.state() == "CompleteCommit"


def test_open_transactions_time_out_after_a_restart(stage):
    producer = stage.producer(timeout_ms=15_000)
    producer.add("orders-0")
    stage.restart()
    stage.scheduler.advance(30_000)
    assert stage.markers() == [(producer.producer_id, 1, "ABORT")]
    assert stage.broker.transactions.figures().timed_out == 1


def test_while_ids_are_loaded_clients_are_put_off(stage):
    producer = stage.producer()
    stage.close()
    stage.scheduler.holds_threads = True
    stage.start()
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert producer.add("orders-0") == loading
    assert producer.init() == loading
    assert [row.error_code for row in stage.describe("t")] == [loading]
    assert stage.ask(66, ListTransactionsRequest()).error_code == loading
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    assert producer.add("orders-0") == ErrorCode.NONE


def test_a_damaged_partition_loses_its_own_ids_only(stage):
    stage.producer(transactional_id="t")
    stage.producer(transactional_id="billing")
    path = stage.state_partition("t").log.segments.active.log.path
    stage.close()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    stage.start()
    assert [row.error_code for row in stage.describe("t", "billing")] == [ErrorCode.NOT_COORDINATOR, 0]


def test_who_waits_for_markers_when_the_broker_stops_is_sent_away(stage, monkeypatch):
    monkeypatch.setattr(marker_writing, "write_markers", lambda *_: None)
    stage.restart()
    producer = stage.producer()
    producer.add("orders-0")
    waiting = producer.send_end(True)
    stage.scheduler.run()
    stage.close()
    assert waiting.responses[0].error_code == ErrorCode.NOT_COORDINATOR
    monkeypatch.undo()
    stage.start()
    assert len(stage.markers()) == 1


# -- the disk -----------------------------------------------------------------------------------------------


def test_a_full_disk_refuses_and_takes_up_again_when_there_is_room(make):
    files = FullDisk()
    stage = make(files=files)
    producer = stage.producer()
    producer.add("orders-0")
    files.full_from = files.count
    assert producer.add("orders-1") == ErrorCode.NOT_COORDINATOR
    assert producer.commit() == ErrorCode.NOT_COORDINATOR
    assert stage.state() == "Ongoing"
    files.heal()
    assert producer.commit() == ErrorCode.NONE


def test_an_id_that_cannot_be_written_is_not_there(make):
    files = FullDisk()
    stage = make(files=files)
    stage.producer(transactional_id="before")
    files.full_from = files.count
    assert stage.ask(22, init_request("t"), 5).error_code == ErrorCode.NOT_COORDINATOR
    assert stage.listed() == {"before": "Empty"}
    files.heal()
    assert stage.producer().epoch == 0


def test_when_the_disk_fails_nothing_is_confirmed_and_no_marker_is_written(make):
    files = FailingSync()
    stage = make(files=files)
    producer = stage.producer()
    producer.add("orders-0")
    stage.scheduler.holds_threads = True
    waiting = producer.send_end(True)
    stage.scheduler.run()
    files.failures = 1
    stage.scheduler.run_threads()
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    assert waiting.responses[0].error_code == ErrorCode.NOT_COORDINATOR
    assert stage.markers() == []
    assert [row.error_code for row in stage.describe("t")] == [ErrorCode.NOT_COORDINATOR]


def test_who_waits_for_a_producer_id_when_the_disk_fails_is_sent_away(make):
    files = FailingSync()
    stage = make(files=files)
    producer = stage.producer()
    producer.add("orders-0")
    neighbour = next(name for name in "abcdefghi" if stage.state_partition(name) is stage.state_partition())
    stage.scheduler.holds_threads = True
    producer.send_end(True)
    # It needs nothing of the disk yet, but stands behind what does.
    waiting = stage.send(22, init_request(neighbour), 5)
    stage.scheduler.run()
    files.failures = 1
    stage.scheduler.run_threads()
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    assert [response.error_code for response in waiting.responses] == [ErrorCode.NOT_COORDINATOR]


def test_producer_ids_that_cannot_be_recorded(make):
    files = FullDisk()
    stage = make(files=files)
    files.full_from = files.count
    assert stage.ask(22, init_request("t"), 5).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    files.heal()
    assert stage.producer().producer_id == 0


# -- markers ------------------------------------------------------------------------------------------------


def test_a_deleted_topic_does_not_hold_a_transaction_up(stage):
    stage.create("doomed")
    producer = stage.producer()
    producer.add("doomed-0", "orders-0")
    stage.delete("doomed")
    assert producer.commit() == ErrorCode.NONE
    assert stage.state() == "CompleteCommit"
    assert len(stage.markers()) == 1


def test_a_topic_that_is_deleted_while_its_marker_is_on_the_way(stage):
    stage.create("doomed")
    producer = stage.producer()
    producer.add("doomed-0", "orders-0")
    stage.scheduler.holds_threads = True
    waiting = producer.send_end(False)
    stage.send(20, DeleteTopicsRequest([DeleteTopicState("doomed")]))
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    stage.scheduler.advance(1_000)
    assert waiting.responses[0].error_code == 0
    assert stage.state() == "CompleteAbort"


def test_a_transaction_over_deleted_topics_alone(stage):
    stage.create("doomed")
    producer = stage.producer()
    producer.add("doomed-0", "doomed-1")
    stage.delete("doomed")
    assert producer.commit() == ErrorCode.NONE


class ScriptedMarkers:
    """In place of the writer: it fails as told, then works."""

    def __init__(self, monkeypatch, *failures):
        self.write = marker_writing.write_markers
        self.failures = list(failures)
        monkeypatch.setattr(marker_writing, "write_markers", self)

    def __call__(self, broker, request, done):
        failure = self.failures.pop(0) if self.failures else None
        if isinstance(failure, Exception):
            raise failure
        if failure is None:
            self.write(broker, request, done)
        else:
            done(failure)


@pytest.mark.parametrize("failure", [RuntimeError("a bug"), WriteTxnMarkersResponse()], ids=["bug", "silent"])
def test_markers_are_tried_again_whatever_happens_to_them(make, monkeypatch, failure, caplog):
    ScriptedMarkers(monkeypatch, failure, failure)
    stage = make()
    producer = stage.producer()
    producer.add("orders-0")
    waiting = producer.send_end(True)
    stage.scheduler.run()
    assert (waiting.is_done, stage.state()) == (False, "PrepareCommit")
    assert stage.broker.transactions.figures().ending == 1
    stage.scheduler.advance(100)
    assert waiting.responses[0].error_code == 0
    assert stage.state() == "CompleteCommit"
    assert ("a bug" in caplog.text) == isinstance(failure, RuntimeError)


# -- for leaders --------------------------------------------------------------------------------------------


def _verified(stage, transactional_id, producer_id, epoch, partitions, *, may_add=False):
    told = []
    stage.broker.transactions.verify_or_add(
        transactional_id, producer_id, epoch, partitions, may_add=may_add, done=told.append
    )
    stage.scheduler.run()
    (answer,) = told
    return answer


def test_a_leader_verifies_and_adds(stage):
    producer = stage.producer()
    partitions = [("orders", 0), ("orders", 1), ("bills", 0)]
    abortable = dict.fromkeys(partitions, ErrorCode.TRANSACTION_ABORTABLE)
    assert _verified(stage, "t", *producer.identity, partitions) == abortable
    added_now = _verified(stage, "t", *producer.identity, partitions[:2], may_add=True)
    assert added_now == dict.fromkeys(partitions[:2], ErrorCode.NONE)
    assert _verified(stage, "t", *producer.identity, partitions) == {
        **added_now,
        ("bills", 0): ErrorCode.TRANSACTION_ABORTABLE,
    }
    assert stage.state() == "Ongoing"


def test_a_leader_hears_when_the_addition_is_on_the_disk(stage):
    producer = stage.producer()
    stage.scheduler.holds_threads = True
    told = []
    stage.broker.transactions.verify_or_add(
        "t", *producer.identity, [("orders", 0)], may_add=True, done=told.append
    )
    stage.scheduler.run()
    assert told == []
    stage.scheduler.run_threads()
    assert told == [{("orders", 0): ErrorCode.NONE}]


@pytest.mark.parametrize(
    ("identity", "error"),
    [
        (("", 0, 0), ErrorCode.INVALID_REQUEST),
        (("unknown", 0, 0), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (("t", 9, 0), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (("t", 0, 9), ErrorCode.PRODUCER_FENCED),
    ],
)
def test_who_is_not_the_producer(stage, identity, error):
    stage.producer()
    for may_add in (False, True):
        assert _verified(stage, *identity, [("orders", 0)], may_add=may_add) == {("orders", 0): error}


# -- configuration ------------------------------------------------------------------------------------------


def test_the_levels_of_the_feature_are_followed(stage):
    from distributedlog.wire.values.metadata_records import FeatureLevelRecord

    levels = {
        shard.coordinator.state.config.transaction_version
        for shard in stage.broker.transactions._shards.values()
    }
    assert levels == {2}
    stage.broker.apply_metadata([FeatureLevelRecord("transaction.version", 0)], lambda: None)
    stage.scheduler.run()
    stage.producer(version=1).add("orders-0")
    stage.scheduler.advance(75_000)
    assert stage.state() == "CompleteAbort"
    log = stage.state_partition().log
    last = list(iterate_records(log.read(log.log_end_offset - 1, 1 << 20).read()))[-1]
    assert last.value[:2] == b"\x00\x00", "records of version 0"
