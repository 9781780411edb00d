"""The embedded `Log`, case by case; `model/test_embedded.py` goes through their combinations."""

import os
import threading

import pytest

from distributedlog import Entry, Log, LogReader, Record
from distributedlog.log import Files, embedded
from distributedlog.log.errors import (
    DirectoryLocked,
    InvalidConfig,
    InvalidRecord,
    LogClosed,
    LogNotFound,
    OffsetOutOfRange,
    RecordTooLarge,
)
from distributedlog.records import Compression, InvalidRecordError, iterate_batches

T0 = 1_700_000_000_000
DEADLINE_S = 60
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


class SyncNotingFiles(Files):
    """Counts the fsyncs of log files, and tells when there was one."""

    def __init__(self):
        self.synced = threading.Semaphore(0)
        self.count = 0

    def fsync(self, fd):
        super().fsync(fd)
        if os.readlink(f"/proc/self/fd/{fd}").endswith(".log"):
            self.count += 1
            self.synced.release()


@pytest.fixture
def log(tmp_path):
    with Log(tmp_path, flush="os") as log:
        yield log


def values(records):
    return [record.value for record in records]


def segments(log):
    return sorted(name for name in os.listdir(log.path / "log-0") if name.endswith(".log"))


# -- appending ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
def test_a_record_comes_back_as_it_was_appended(tmp_path, codec):
    with Log(tmp_path, flush="os", compression=codec) as log:
        assert log.append(key=b"k", value=b"v", headers=(("a", b"1"), ("b", None)), timestamp=T0) == 0
        assert log.append() == 1
        assert log.append(key=b"", value=b"", timestamp=-1) == 2
        assert log.get(0) == Record(0, T0, b"k", b"v", (("a", b"1"), ("b", None)))
        assert log.get(1)[2:] == (None, None, ())
        assert log.get(2) == Record(2, -1, b"", b"", ())
        assert log.get(3) is None


def test_without_a_timestamp_a_record_has_the_time_of_its_append(log, monkeypatch):
    monkeypatch.setattr(embedded, "wall_clock_ms", lambda: T0)
    log.append(value=b"1")
    log.append_many([b"2", Entry(value=b"3", timestamp=T0 - 5)])
    assert [record.timestamp for record in log.read()] == [T0, T0, T0 - 5]


def test_the_log_can_be_told_to_keep_its_own_time(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "wall_clock_ms", lambda: T0)
    with Log(tmp_path, flush="os", config={"message.timestamp.type": "LogAppendTime"}) as log:
        log.append(value=b"1", timestamp=5)
        log.append_many([Entry(value=b"2", timestamp=6)])
        assert [record.timestamp for record in log.read()] == [T0, T0]


def test_records_of_every_form_can_be_appended_together(log):
    given = [
        b"bytes",
        bytearray(b"bytearray"),
        memoryview(b"memoryview"),
        (b"key", b"pair"),
        (None, None),
        Entry(b"key", b"entry", (("h", b"1"),), T0),
        Record(99, T0, b"key", b"record", (("h", b"1"),)),
    ]
    assert log.append_many(iter(given)) == range(7)
    assert values(log.read()) == [
        b"bytes", b"bytearray", b"memoryview", b"pair", None, b"entry", b"record",
    ]  # fmt: skip
    assert log.get(5)[1:] == (T0, b"key", b"entry", (("h", b"1"),))
    assert log.get(6)[1:] == (T0, b"key", b"record", (("h", b"1"),))


def test_no_records_are_no_append(log):
    log.append(value=b"v")
    assert log.append_many([]) == range(1, 1)
    assert log.end_offset == 1


def test_many_records_are_written_in_large_batches(log):
    log.append_many([b"v" * 100] * 5000)
    data = b"".join((log.path / "log-0" / name).read_bytes() for name in segments(log))
    sizes = [header.size for _, header in iterate_batches(data)]
    assert max(sizes) <= embedded.BATCH_BYTES + 200
    assert len(sizes) <= 5000 * 120 // embedded.BATCH_BYTES + 1


@pytest.mark.parametrize(
    ("record", "error", "words"),
    [
        ({"value": "text"}, TypeError, "value must be bytes or None, not str: 'text'"),
        ({"key": 5}, TypeError, "key must be bytes or None, not int: 5"),
        ({"headers": (("a", "b"),)}, TypeError, "headers must be pairs"),
        ({"headers": ((b"a", b"b"),)}, TypeError, "headers must be pairs"),
        ({"timestamp": 1.5}, TypeError, "timestamp must be a number of milliseconds"),
        ({"timestamp": 2**63}, InvalidRecordError, "."),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_what_is_no_record_is_refused_in_the_words_of_the_caller(log, record, error, words, many):
    log.append(value=b"before")
    record = {"value": b"v"} | record
    append = (lambda: log.append_many([Entry(**record)])) if many else (lambda: log.append(**record))
    with pytest.raises(error, match=words):
        append()
    assert log.append(value=b"after") == 1


def test_another_thing_than_a_record_is_named(log):
    for thing in ("text", 5, (b"a", b"b", b"c"), None, {"value": b"v"}):
        with pytest.raises(TypeError, match="a record is an Entry"):
            log.append_many([thing])
    assert log.end_offset == 0


@pytest.mark.parametrize("flush", ["ack", "interval", "os"])
def test_what_came_before_a_refused_record_is_kept_and_seen(tmp_path, flush):
    """In whole batches: those that were written before it was reached."""
    with Log(tmp_path, flush=flush) as log:
        with pytest.raises(TypeError):
            log.append_many([b"v" * 40_000, b"v" * 40_000, b"v" * 40_000, "text"])
        assert log.end_offset > 0
        assert len(list(log.read())) == log.end_offset


def test_a_batch_over_max_message_bytes_is_refused(tmp_path):
    with Log(tmp_path, flush="os", config={"max.message.bytes": 1000}) as log:
        for append in (lambda: log.append(value=b"v" * 1000), lambda: log.append_many([b"v" * 1000])):
            with pytest.raises(RecordTooLarge, match="the log accepts 1000"):
                append()
        assert log.append_many([b"v" * 300] * 10) == range(10)
        assert log.end_offset == 10


def test_a_record_larger_than_a_segment_gets_one_of_its_own(tmp_path):
    with Log(tmp_path, flush="os", config={"segment.bytes": 200}) as log:
        for size in (10, 5000, 10):
            log.append(value=b"v" * size)
        assert len(segments(log)) == 3
        assert [len(value) for value in values(log.read())] == [10, 5000, 10]


# -- the three settings -------------------------------------------------------------------------------


def test_with_ack_every_append_is_on_the_disk_when_it_returns(tmp_path):
    files = SyncNotingFiles()
    with Log(tmp_path, files=files) as log:
        for number in range(1, 4):
            log.append(value=b"v")
            assert files.count == number
        log.append_many([b"v"] * 100)
        assert files.count == 4


def test_with_interval_the_disk_is_no_more_records_behind_than_allowed(tmp_path):
    files = SyncNotingFiles()
    options = {"flush_interval_ms": 10**9, "flush_interval_records": 10}
    with Log(tmp_path, flush="interval", files=files, **options) as log:
        for _ in range(10):
            log.append(value=b"v")
        assert files.count == 0
        assert len(list(log.read())) == 10
        log.append(value=b"v")
        assert files.count == 1
        log.append_many([b"v"] * 10)
        assert files.count == 1
        log.append_many([b"v"] * 11)
        assert files.count == 2


def test_with_interval_the_disk_follows_by_itself(tmp_path):
    files = SyncNotingFiles()
    with Log(tmp_path, flush="interval", flush_interval_ms=1, files=files) as log:
        log.append(value=b"v")
        assert files.synced.acquire(timeout=DEADLINE_S)


def test_with_os_the_disk_hears_of_whole_segments(tmp_path):
    files = SyncNotingFiles()
    with Log(tmp_path, flush="os", files=files, config={"segment.bytes": 1000}) as log:
        for _ in range(3):
            log.append(value=b"v" * 200)
        assert files.count == 0
        log.append(value=b"v" * 200)
        log.append(value=b"v" * 200)
        assert len(segments(log)) == 2
        assert files.synced.acquire(timeout=DEADLINE_S)


@pytest.mark.parametrize("flush", ["interval", "os"])
def test_a_flush_asked_for_is_made(tmp_path, flush):
    files = SyncNotingFiles()
    with Log(tmp_path, flush=flush, flush_interval_ms=10**9, files=files) as log:
        log.append(value=b"v")
        log.flush()
        assert files.count == 1
        log.flush()
        assert files.count == 1


def test_a_close_leaves_everything_on_the_disk(tmp_path):
    files = SyncNotingFiles()
    with Log(tmp_path, flush="os", files=files) as log:
        log.append(value=b"v")
    assert files.count == 1


def test_the_topic_configuration_makes_flushing_stricter(tmp_path):
    files = SyncNotingFiles()
    with Log(tmp_path, flush="os", files=files, config={"flush.messages": 1}) as log:
        log.append(value=b"v")
        assert files.count == 1


# -- reading ------------------------------------------------------------------------------------------


def test_a_read_ends_where_the_log_ends_when_it_gets_there(log):
    log.append_many([b"1", b"2"])
    records = log.read()
    assert next(records).value == b"1"
    log.append(value=b"3")
    assert values(records) == [b"2", b"3"]


def test_reads_outside_of_the_log_name_its_ends(log):
    log.append_many([b"v"] * 5)
    log.delete_before(2)
    for offset in (-1, 1, 6):
        with pytest.raises(OffsetOutOfRange, match="which holds offsets 2 to 5"):
            log.read(offset)
        with pytest.raises(OffsetOutOfRange):
            log.get(offset)
    assert values(log.read(5)) == []


def test_a_reader_whom_retention_overtakes_goes_on_with_what_is_left(tmp_path):
    with Log(tmp_path, flush="os", config={"segment.bytes": 400}) as log:
        for number in range(200):
            log.append(value=b"%d" % number + b"v" * 300)
        records = log.read()
        assert next(records).offset == 0
        log.delete_before(150)
        rest = [record.offset for record in records]
        assert rest[-50:] == list(range(150, 200))
        assert rest == sorted(set(rest))


def test_times_are_found_exactly(log):
    log.append_many([Entry(value=b"v", timestamp=T0 + time) for time in (10, 50, 20, 60)])
    assert [log.offset_for_time(T0 + time) for time in (0, 11, 50, 51, 61)] == [0, 1, 1, 3, None]
    with pytest.raises(TypeError, match="milliseconds"):
        log.offset_for_time(1.5)


# -- upkeep -------------------------------------------------------------------------------------------


def test_deleted_records_leave_the_disk_segment_by_segment(tmp_path):
    with Log(tmp_path, flush="os", config={"segment.bytes": 400}) as log:
        for _ in range(6):
            log.append(value=b"v" * 300)
        assert len(segments(log)) == 6
        log.delete_before(3)
        assert segments(log) == [f"{base:020}.log" for base in (3, 4, 5)]
        assert log.start_offset == 3
        assert not [name for name in os.listdir(log.path / "log-0") if name.endswith(".deleted")]


def test_nothing_is_deleted_by_age_unless_it_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "wall_clock_ms", lambda: T0)
    with Log(tmp_path, flush="os") as log:
        log.append(value=b"old", timestamp=5)
        assert log.apply_retention() == 0
    with Log(tmp_path, flush="os", config={"retention.ms": 1000}) as log:
        assert log.apply_retention() > 0
        assert (log.start_offset, log.end_offset) == (1, 1)


def test_compaction_keeps_the_last_record_of_each_key(tmp_path):
    with Log(tmp_path, flush="os", config={"cleanup.policy": "compact"}) as log:
        log.append_many([(b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", None), (b"b", b"2")])
        stats = log.compact()
        assert (stats.records_read, stats.records_kept) == (5, 3)
        assert [(record.offset, record.key, record.value) for record in log.read()] == [
            (2, b"a", b"2"),
            (3, b"c", None),
            (4, b"b", b"2"),
        ]
        assert log.get(1) is None
        assert log.compact().records_read == 0
        assert log.append(key=b"a", value=b"3") == 5
        with pytest.raises(InvalidRecord, match="without a key"):
            log.append(value=b"v")


def test_a_log_that_is_not_to_be_compacted_says_so(log):
    log.append(value=b"v")
    with pytest.raises(InvalidConfig, match=r"cleanup\.policy"):
        log.compact()


# -- opening and closing ------------------------------------------------------------------------------


@pytest.mark.parametrize("flush", ["ack", "interval", "os"])
def test_a_log_goes_on_where_it_was_closed(tmp_path, flush):
    for start in range(0, 9, 3):
        with Log(tmp_path, flush=flush) as log:
            assert log.recovery.was_clean
            assert (log.start_offset, log.end_offset) == (0, start)
            log.append_many([b"%d" % (start + n) for n in range(3)])
    with Log(tmp_path) as log:
        assert values(log.read()) == [b"%d" % n for n in range(9)]
        assert [record.offset for record in log.read()] == list(range(9))


def test_settings_may_change_from_one_opening_to_the_next(tmp_path):
    for codec in CODECS:
        with Log(tmp_path, flush="os", compression=codec, config={"segment.bytes": 150}) as log:
            log.append_many([b"v" * 50] * 3)
    with Log(tmp_path, config={"index.interval.bytes": 0}) as log:
        assert values(log.read()) == [b"v" * 50] * 15
        assert log.offset_for_time(0) == 0


def test_a_log_has_one_writer(tmp_path, log):
    with pytest.raises(DirectoryLocked, match=f"process {os.getpid()}"):
        Log(log.path)


def test_a_closed_log_says_so(tmp_path):
    log = Log(tmp_path, flush="os")
    log.append_many([b"v"] * 3)
    records = log.read()
    next(records)
    log.close()
    log.close()
    for use in (
        lambda: log.append(value=b"v"),
        lambda: log.append_many([b"v"]),
        log.read,
        lambda: log.get(0),
        log.flush,
        lambda: log.offset_for_time(0),
        lambda: log.delete_before(1),
        log.apply_retention,
    ):
        with pytest.raises(LogClosed, match=str(tmp_path)):
            use()
    assert repr(log) == f"Log({str(tmp_path)!r}, closed)"


def test_appends_that_meet_a_close_are_kept_or_refused(tmp_path):
    """And nothing else: no thread hangs, and no acknowledged record is missing."""
    for flush in ("ack", "interval", "os"):
        log = Log(tmp_path / flush, flush=flush)
        acknowledged, failures, begun = [], [], threading.Semaphore(0)

        def work(log=log, acknowledged=acknowledged, failures=failures, begun=begun):
            try:
                while True:
                    acknowledged.append(log.append(value=b"v"))
                    begun.release()
            except LogClosed:
                pass
            except BaseException as error:  # noqa: BLE001 - the test looks at it
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(40):
            assert begun.acquire(timeout=DEADLINE_S)
        log.close()
        for thread in threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive()
        assert failures == []
        with Log(tmp_path / flush) as again:
            assert again.recovery.was_clean
            offsets = [record.offset for record in again.read()]
        assert offsets == list(range(len(offsets)))
        assert len(set(acknowledged)) == len(acknowledged)
        assert set(acknowledged) <= set(offsets)


def test_a_log_opened_with_nonsense_leaves_no_lock(tmp_path):
    with pytest.raises(ValueError, match="compression 'brotli' is none of none, gzip"):
        Log(tmp_path, compression="brotli")
    with pytest.raises(InvalidConfig, match=r"did you mean segment\.bytes"):
        Log(tmp_path, config={"segment.byte": 1})
    with pytest.raises(InvalidConfig, match="expected ack, interval or os"):
        Log(tmp_path, flush="sometimes")
    Log(tmp_path, compression=Compression.ZSTD, config={"preallocate": False}).close()


def test_a_reader_of_nothing_is_told_so(tmp_path):
    with pytest.raises(LogNotFound):
        LogReader(tmp_path / "nowhere")


def test_a_reader_follows_the_writer(tmp_path):
    with Log(tmp_path, flush="os", config={"segment.bytes": 300}) as log, LogReader(tmp_path) as reader:
        assert list(reader.read()) == []
        seen = []
        for number in range(20):
            log.append(key=b"k", value=b"%d" % number + b"v" * 50, timestamp=T0 + number)
            seen += values(reader.read(len(seen)))
            assert reader.end_offset == log.end_offset
        assert seen == values(log.read())
        assert reader.offset_for_time(T0 + 13) == 13
        log.delete_before(10)
        assert reader.start_offset == 10
        with pytest.raises(OffsetOutOfRange):
            reader.read(9)
        assert values(reader.read()) == seen[10:]
        assert [record.offset for record in reader.follow(15, idle_ms_max=0.1, poll_ms=0.1)] == [
            *range(15, 20)
        ]
    with pytest.raises(LogClosed):
        reader.read()
