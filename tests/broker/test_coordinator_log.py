import pytest
from tests.broker.stage import NOW_MS, append_in_transaction

from distributedlog.broker.coordinator_log import (
    REPLAYED_PER_TURN,
    EndOfTransaction,
    LoadedRecord,
    Loader,
    encode_records,
    java_hash,
    partition_for,
)
from distributedlog.groups import Transaction
from distributedlog.log import AppendOrigin
from distributedlog.records import (
    ControlType,
    CorruptBatchError,
    build_control_batch,
    iterate_batches,
    iterate_records,
)

ENOUGH = 1_000_000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99_162_322),
        ("my-group", -1_906_497_762),
        ("polygenelubricants", -(2**31)),
        ("\N{GRINNING FACE}", 1_772_899),
    ],
)
def test_hashes_are_those_of_java(text, value):
    assert java_hash(text) == value


@pytest.mark.parametrize(
    ("key", "partition"), [("my-group", 12), ("group", 47), ("polygenelubricants", 0), ("", 0)]
)
def test_a_key_belongs_to_the_partition_of_its_hashs_absolute_value(key, partition):
    assert partition_for(key, 50) == partition


# -- encoding ---------------------------------------------------------------------------------------------


def test_records_become_one_batch_so_that_a_crash_keeps_all_or_none():
    data = encode_records([(b"k1", b"v1"), (b"k2", None)], NOW_MS, ENOUGH, None)
    assert len(list(iterate_batches(data))) == 1
    assert [(r.key, r.value, r.timestamp) for r in iterate_records(data)] == [
        (b"k1", b"v1", NOW_MS),
        (b"k2", None, NOW_MS),
    ]


def test_tombstones_that_do_not_fit_in_one_batch_become_several():
    keys = [b"%04d" % number for number in range(100)]
    data = encode_records([(key, None) for key in keys], NOW_MS, 1000, None)
    batches = [header for _, header in iterate_batches(data)]
    assert len(batches) > 1
    assert all(header.size <= 1000 for header in batches)
    assert [record.key for record in iterate_records(data)] == keys


def test_records_with_values_are_never_torn_apart():
    data = encode_records([(b"k", b"v" * 500), (b"l", b"v" * 500)], NOW_MS, 600, None)
    assert len(list(iterate_batches(data))) == 1


def test_records_of_a_transaction_carry_its_producer():
    data = encode_records([(b"k", b"v")], NOW_MS, ENOUGH, Transaction("tx", 7, 3))
    ((_, header),) = iterate_batches(data)
    assert (header.is_transactional, header.producer_id, header.producer_epoch) == (True, 7, 3)
    assert header.base_sequence == -1


# -- loading ----------------------------------------------------------------------------------------------


class Loading:
    def __init__(self, stage, partition, replay=None):
        self.entries = []
        self.ends = []
        self.loader = Loader(
            partition,
            stage.scheduler,
            replay or self.entries.append,
            lambda: self.ends.append(None),
            self.ends.append,
        )
        self.loader.start()


def append(partition, *records, transaction=None):
    data = encode_records(records, NOW_MS, ENOUGH, transaction)
    append_in_transaction(partition, data, AppendOrigin.COORDINATOR)


def test_an_empty_log_is_loaded_at_once(stage):
    assert Loading(stage, stage.add()).ends == [None]


def test_all_records_come_in_order_with_their_offsets(stage):
    partition = stage.add()
    append(partition, (b"a", b"1"), (b"b", None))
    append(partition, (b"c", b"3"))
    loading = Loading(stage, partition)
    stage.scheduler.run()
    assert loading.entries == [
        LoadedRecord(b"a", b"1", 0, -1),
        LoadedRecord(b"b", None, 1, -1),
        LoadedRecord(b"c", b"3", 2, -1),
    ]
    assert loading.ends == [None]


def test_other_work_has_its_turn_while_much_is_replayed(stage):
    partition = stage.add()
    append(partition, *((b"%d" % number, b"") for number in range(3 * REPLAYED_PER_TURN)))
    loading = Loading(stage, partition)
    stage.scheduler.run_threads()
    seen = []
    stage.scheduler.call_soon(lambda: seen.append(len(loading.entries)))
    stage.scheduler.run()
    assert seen[0] < 3 * REPLAYED_PER_TURN
    assert len(loading.entries) == 3 * REPLAYED_PER_TURN


def test_a_log_of_many_segments_and_chunks_is_read_to_its_end(stage, monkeypatch):
    monkeypatch.setattr("distributedlog.broker.coordinator_log.CHUNK_BYTES", 300)
    partition = stage.add(segment_bytes=1000)
    for number in range(50):
        append(partition, (b"%d" % number, b"v" * 50))
    assert len(partition.log.segments) > 3
    loading = Loading(stage, partition)
    stage.scheduler.run()
    assert [record.key for record in loading.entries] == [b"%d" % number for number in range(50)]


def test_what_is_appended_during_the_loading_is_not_loaded(stage):
    partition = stage.add()
    append(partition, (b"a", b"1"))
    loading = Loading(stage, partition)
    append(partition, (b"b", b"2"))
    stage.scheduler.run()
    assert [record.key for record in loading.entries] == [b"a"]


def test_transactions_come_with_their_markers(stage):
    partition = stage.add()
    append(partition, (b"a", b"1"), transaction=Transaction("tx", 7, 0))
    append(partition, (b"b", b"2"), transaction=Transaction("ty", 8, 0))
    for control, producer_id in ((ControlType.COMMIT, 7), (ControlType.ABORT, 8)):
        marker = build_control_batch(control, NOW_MS, producer_id=producer_id, producer_epoch=0)
        partition.append(marker, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)
    loading = Loading(stage, partition)
    stage.scheduler.run()
    assert loading.entries == [
        LoadedRecord(b"a", b"1", 0, 7),
        LoadedRecord(b"b", b"2", 1, 8),
        EndOfTransaction(7, True),
        EndOfTransaction(8, False),
    ]


def test_a_damaged_log_fails(stage):
    partition = stage.add()
    append(partition, (b"a", b"1"))
    path = partition.log.segments.active.log.path
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    loading = Loading(stage, partition)
    stage.scheduler.run()
    assert [type(error) for error in loading.ends] == [CorruptBatchError]
    assert loading.entries == []


def test_what_replaying_raises_ends_the_loading(stage):
    def replay(_):
        raise KeyError("a bug")

    partition = stage.add()
    append(partition, (b"a", b"1"))
    loading = Loading(stage, partition, replay)
    stage.scheduler.run()
    assert [type(error) for error in loading.ends] == [KeyError]


def test_who_cancels_hears_nothing_more(stage):
    partition = stage.add()
    append(partition, (b"a", b"1"))
    loading = Loading(stage, partition)
    loading.loader.cancel()
    stage.scheduler.run()
    assert (loading.entries, loading.ends) == ([], [])


def test_a_compacted_log_has_holes_and_is_read_to_its_end(stage):
    partition = stage.add(segment_bytes=400, cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
    for number in range(20):
        append(partition, (b"key", b"%02d" % number * 50))
    append(partition, (b"last", b"value"))
    partition.log.flush()
    job = partition.log.begin_compaction(NOW_MS)
    job.run()
    partition.log.complete_compaction(job)
    loading = Loading(stage, partition)
    stage.scheduler.run()
    assert len(loading.entries) < 20
    assert loading.entries[-1] == LoadedRecord(b"last", b"value", 20, -1)
    assert loading.ends == [None]
