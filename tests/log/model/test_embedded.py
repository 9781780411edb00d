"""`Log` and `LogReader` against a dictionary of records, after every history that Hypothesis finds."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.log.model.examples import UnsyncedFiles, model_settings

from distributedlog.log import Entry, Log, LogReader, embedded
from distributedlog.log.errors import InvalidRecord, OffsetOutOfRange
from distributedlog.records import Record

START_MS = 1_700_000_000_000

timestamps = st.none() | st.integers(-5_000, 5_000)
keys = st.sampled_from([b"", b"a", b"b", b"c"])
values = st.none() | st.sampled_from([b"", b"1", b"2" * 100])
header_lists = st.sampled_from([(), (("h", b"1"),), (("h", None), ("", b""))])
entries = st.tuples(keys, values, header_lists, timestamps)
places = st.integers(-1, 21).map(lambda number: number / 20)
modes = st.sampled_from(["ack", "interval", "os"])
codecs = st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"])


class Watched:
    """An iterator that goes on while the log changes under it."""

    def __init__(self, source, records, start_offset):
        self.source = source
        self.records = records
        self.previous = start_offset - 1


class LogMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="dlog-model-"))
        self.now_ms = START_MS
        #: All that was ever appended, and what of it is to be seen.
        self.appended = {}
        self.visible = {}
        self.start_offset = self.end_offset = 0
        self.clean_to = 0
        self.horizons = {}
        self.watched = []
        self.real_clock = embedded.wall_clock_ms
        embedded.wall_clock_ms = lambda: self.now_ms

    @initialize(
        policy=st.sampled_from(["delete", "compact", "compact,delete"]),
        segment_bytes=st.sampled_from([200, 1000, 1 << 20]),
        interval_bytes=st.sampled_from([0, 100, 4096]),
        retention_bytes=st.sampled_from([-1, -1, 0, 1000]),
        retention_ms=st.sampled_from([-1, 10_000]),
        delete_retention_ms=st.sampled_from([0, 5_000]),
        timestamp_type=st.sampled_from(["CreateTime", "CreateTime", "LogAppendTime"]),
        flush=modes,
        codec=codecs,
    )
    def begin(
        self,
        policy,
        segment_bytes,
        interval_bytes,
        retention_bytes,
        retention_ms,
        delete_retention_ms,
        timestamp_type,
        flush,
        codec,
    ):
        self.config = {
            "cleanup.policy": policy,
            "segment.bytes": str(segment_bytes),
            "index.interval.bytes": str(interval_bytes),
            "retention.bytes": str(retention_bytes),
            "retention.ms": str(retention_ms),
            "delete.retention.ms": str(delete_retention_ms),
            "message.timestamp.type": timestamp_type,
        }
        self.is_compacted = "compact" in policy
        self.delete_retention_ms = delete_retention_ms
        self.is_append_time = timestamp_type == "LogAppendTime"
        self.open(flush, codec)
        self.reader = LogReader(self.directory)

    def open(self, flush, codec):
        self.log = Log(
            self.directory,
            flush=flush,
            flush_interval_ms=60_000,
            compression=codec,
            config=self.config,
            files=UnsyncedFiles(),
        )

    def teardown(self):
        embedded.wall_clock_ms = self.real_clock
        if hasattr(self, "log"):
            self.log.close()
            self.reader.close()
        shutil.rmtree(self.directory)

    # -- appending ----------------------------------------------------------------------------------

    def record(self, offset, entry):
        key, value, headers, delta = entry
        timestamp = self.now_ms + (delta or 0)
        if self.is_append_time:
            timestamp = self.now_ms
        return Record(offset, timestamp, key, value, headers)

    def take_in(self, added):
        for number, entry in enumerate(added):
            offset = self.end_offset + number
            self.appended[offset] = self.visible[offset] = self.record(offset, entry)
        self.end_offset += len(added)

    @rule(entry=entries)
    def append(self, entry):
        key, value, headers, delta = entry
        timestamp = None if delta is None else self.now_ms + delta
        offset = self.log.append(key=key, value=value, headers=headers, timestamp=timestamp)
        assert offset == self.end_offset
        self.take_in([entry])

    @rule(added=st.lists(entries, max_size=12), form=st.sampled_from(["entries", "records", "pairs"]))
    def append_many(self, added, form):
        if form == "pairs":
            added = [(key, value, (), None) for key, value, _, _ in added]
            given = [(key, value) for key, value, _, _ in added]
        elif form == "records":
            given = [self.record(7, entry) for entry in added]
        else:
            given = [
                Entry(key, value, headers, None if delta is None else self.now_ms + delta)
                for key, value, headers, delta in added
            ]
        offsets = self.log.append_many(given)
        assert offsets == range(self.end_offset, self.end_offset + len(added))
        self.take_in(added)

    @rule(value=values)
    def append_without_a_key(self, value):
        if self.is_compacted:
            with pytest.raises(InvalidRecord):
                self.log.append(value=value)
        else:
            assert self.log.append(value=value) == self.end_offset
            self.take_in([(None, value, (), None)])

    @rule(milliseconds=st.integers(0, 8_000))
    def time_passes(self, milliseconds):
        self.now_ms += milliseconds

    @rule()
    def flush(self):
        self.log.flush()

    # -- reading ------------------------------------------------------------------------------------

    def offset_at(self, place):
        return self.start_offset + round(place * (self.end_offset - self.start_offset))

    @rule(start=st.none() | places, end=st.none() | places, source=st.sampled_from(["log", "reader"]))
    def read(self, start, end, source):
        source = getattr(self, source)
        first = None if start is None else self.offset_at(start)
        bound = None if end is None else self.offset_at(end)
        if first is not None and not self.start_offset <= first <= self.end_offset:
            with pytest.raises(OffsetOutOfRange):
                source.read(first, bound)
            return
        expected = [
            record
            for offset, record in self.visible.items()
            if offset >= (first or 0) and (bound is None or offset < bound)
        ]
        assert list(source.read(first, bound)) == expected
        rows = source.read_arrow(first, bound).to_pylist()
        assert [
            (
                row["offset"],
                _milliseconds(row["timestamp"]),
                row["key"],
                row["value"],
                tuple((header["key"], header["value"]) for header in row["headers"] or ()),
            )
            for row in rows
        ] == expected

    @rule(delta=st.integers(-5_000, 5_000), which=st.integers(0, 50))
    def look_up_a_time(self, delta, which):
        records = list(self.visible.values())
        wanted = records[which % len(records)].timestamp if records and delta % 2 else self.now_ms + delta
        expected = next((record.offset for record in records if record.timestamp >= wanted), None)
        assert self.log.offset_for_time(wanted) == expected
        assert self.reader.offset_for_time(wanted) == expected

    @precondition(lambda self: len(self.watched) < 4)
    @rule(place=st.integers(0, 20).map(lambda number: number / 20), source=st.sampled_from(["log", "reader"]))
    def begin_to_read(self, place, source):
        offset = self.offset_at(place)
        self.watched.append(Watched(source, getattr(self, source).read(offset), offset))

    @precondition(lambda self: self.watched)
    @rule(which=st.integers(0, 3), count=st.integers(1, 5))
    def go_on_reading(self, which, count):
        """Never a wrong record or a duplicate, and none skipped that is there."""
        watched = self.watched[which % len(self.watched)]
        for _ in range(count):
            record = next(watched.records, None)
            reached = self.end_offset if record is None else record.offset
            assert reached > watched.previous
            skipped = [offset for offset in self.visible if watched.previous < offset < reached]
            assert not skipped
            if record is None:
                self.watched.remove(watched)
                return
            assert record == self.appended[record.offset]
            watched.previous = record.offset

    # -- upkeep -------------------------------------------------------------------------------------

    def raise_start_offset(self, offset):
        self.start_offset = max(offset, self.start_offset)
        self.visible = {
            offset: record for offset, record in self.visible.items() if offset >= self.start_offset
        }

    @rule(place=places)
    def delete_before(self, place):
        offset = self.offset_at(place)
        if not 0 <= offset <= self.end_offset:
            with pytest.raises(OffsetOutOfRange):
                self.log.delete_before(offset)
            return
        self.log.delete_before(offset)
        self.raise_start_offset(offset)
        self.check_retention()

    @rule()
    def apply_retention(self):
        self.log.apply_retention()
        self.check_retention()

    def check_retention(self):
        """Which segments go is the matter of other tests; here: only what may, and nothing in between."""
        start = self.log.start_offset
        if start == self.start_offset:
            return
        assert "delete" in self.config["cleanup.policy"]
        assert self.start_offset < start <= self.end_offset
        if self.config["retention.bytes"] == "-1":
            limit = self.now_ms - int(self.config["retention.ms"])
            assert self.config["retention.ms"] != "-1"
            assert all(record.timestamp < limit for offset, record in self.visible.items() if offset < start)
        self.raise_start_offset(start)

    @precondition(lambda self: self.is_compacted)
    @rule()
    def compact(self):
        stats = self.log.compact()
        assert stats.records_kept <= stats.records_read
        if self.end_offset == self.clean_to:
            return  # nothing is dirty
        last_of_keys = {record.key: offset for offset, record in self.visible.items()}
        kept = {}
        for offset, record in self.visible.items():
            if last_of_keys[record.key] != offset:
                continue
            if record.value is None:
                horizon = self.horizons.setdefault(offset, None)
                if horizon is not None and horizon <= self.now_ms:
                    continue
                if horizon is None:
                    self.horizons[offset] = self.now_ms + self.delete_retention_ms
            kept[offset] = record
        self.visible = kept
        self.clean_to = self.end_offset

    # -- closing and opening ------------------------------------------------------------------------

    @rule(flush=modes, codec=codecs)
    def close_and_open(self, flush, codec):
        self.log.close()
        self.check_reader()
        self.open(flush, codec)
        assert self.log.recovery.was_clean
        self.after_open()

    @rule(flush=modes, codec=codecs)
    def die_and_open(self, flush, codec):
        """As a process dies: what the operating system was given, it keeps."""
        self.log._flush_thread.stop()
        self.log._directory.abandon()
        self.check_reader()
        self.open(flush, codec)
        assert not self.log.recovery.was_clean
        assert not self.log.recovery.bytes_cut
        # How far the log is clean is noted at times only; to clean again what is clean does no harm.
        assert self.log._log.first_dirty_offset <= self.clean_to
        self.clean_to = self.log._log.first_dirty_offset
        self.after_open()

    def after_open(self):
        self.watched = [watched for watched in self.watched if watched.source == "reader"]

    # -- what holds at all times --------------------------------------------------------------------

    @invariant()
    def the_log_holds_what_is_visible(self):
        assert self.log.start_offset == self.start_offset
        assert self.log.end_offset == self.end_offset
        assert list(self.log.read()) == list(self.visible.values())

    @invariant()
    def check_reader(self):
        assert self.reader.start_offset == self.start_offset
        assert self.reader.end_offset == self.end_offset
        assert list(self.reader.read()) == list(self.visible.values())


def _milliseconds(timestamp):
    return timestamp if isinstance(timestamp, int) else round(timestamp.timestamp() * 1000)


TestLogWithoutFsync = LogMachine.TestCase
TestLogWithoutFsync.settings = model_settings(60, 30)
