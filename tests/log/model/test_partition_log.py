"""`PartitionLog` against a model without files: every answer, after every history that Hypothesis finds."""

import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.log.model.examples import UnsyncedFiles, model_settings
from tests.log.model.partition_model import SEQUENCES, ModelBatch, ModelProducer, PartitionModel

from distributedlog.log import (
    AppendOrigin,
    LogConfig,
    open_partition_log,
)
from distributedlog.log.errors import (
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidTxnState,
    OffsetOutOfRange,
    OutOfOrderSequence,
    RecordTooLarge,
    TransactionCoordinatorFenced,
)
from distributedlog.log.offset_journal import OffsetKind
from distributedlog.log.truncation import truncate_fully_and_start_at, truncate_to
from distributedlog.records import (
    BatchBuilder,
    Compression,
    ControlType,
    CorruptBatchError,
    build_control_batch,
    patch_base_offset,
    set_log_append_time,
)

START_MS = 1_700_000_000_000
PRODUCERS = (1, 2, 3)
NEVER_EXPIRES_MS = 2**62

# Milliseconds around the clock's now: mostly forward, at times far back.
timestamps = st.integers(-5_000, 5_000)
record_lists = st.lists(
    st.tuples(timestamps, st.none() | st.binary(max_size=6), st.none() | st.sampled_from([b"", b"v" * 90])),
    min_size=1,
    max_size=4,
)
codecs = st.sampled_from(Compression)
# Where in the log, as a fraction: what offsets there are is known only when the step runs.
places = st.integers(-1, 41).map(lambda number: number / 40)
gaps = st.sampled_from([0, 0, 0, 1, 7, 2**31 - 20, 2**31 + 5])


class PartitionLogMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="dlog-model-"))
        self.model = PartitionModel()
        self.now_ms = START_MS
        self.epoch = 0
        self.job = None
        self.safe_to = 0
        self.has_reloaded = False
        self.noted = {}

    @initialize(
        segment_bytes=st.sampled_from([500, 900, 2500, 1 << 20]),
        interval_bytes=st.sampled_from([0, 100, 4096]),
        index_bytes=st.sampled_from([40, 10 << 20]),
        segment_ms=st.sampled_from([3_000, 10**9]),
        retention_bytes=st.sampled_from([-1, -1, 0, 1000]),
        retention_ms=st.sampled_from([-1, 10_000]),
        timestamp_type=st.sampled_from(["CreateTime", "CreateTime", "LogAppendTime"]),
        start_offset=st.sampled_from([0, 0, 5, 2**31 - 6]),
        cleanup_policy=st.sampled_from([("delete",), ("compact", "delete")]),
    )
    def begin(
        self,
        segment_bytes,
        interval_bytes,
        index_bytes,
        segment_ms,
        retention_bytes,
        retention_ms,
        timestamp_type,
        start_offset,
        cleanup_policy,
    ):
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=interval_bytes,
            segment_index_bytes=index_bytes,
            segment_ms=segment_ms,
            cleanup_policy=cleanup_policy,
            retention_bytes=retention_bytes,
            retention_ms=retention_ms,
            message_timestamp_type=timestamp_type,
        )
        self.model.start_over(start_offset)
        self.open(was_clean=True, recovery_point=0, log_start_offset=start_offset)

    def open(self, *, was_clean, recovery_point, log_start_offset):
        self.log, self.report = open_partition_log(
            UnsyncedFiles(),
            self.directory,
            self.config,
            was_clean=was_clean,
            now_ms=self.now_ms,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            producer_id_expiration_ms=NEVER_EXPIRES_MS,
        )
        self.log.note_offset = lambda kind, offset, durably: self.noted.__setitem__(kind, offset)

    def teardown(self):
        if hasattr(self, "log"):
            self.log.abandon()
        shutil.rmtree(self.directory)

    # -- appending ----------------------------------------------------------------------------------

    @rule(seed=st.integers(0, 2**16), steps=st.integers(5, 25))
    def append_a_run(self, seed, steps):
        """Much at once, so that there is a log to do something with."""
        rng = random.Random(seed)

        def records():
            return [
                (rng.randint(-5_000, 5_000), rng.choice([None, b"key"]), b"v" * rng.choice([0, 10, 90]))
                for _ in range(rng.randint(1, 4))
            ]

        for _ in range(steps):
            step = rng.random()
            if step < 0.4:
                self.append_batches([(records(), rng.choice(list(Compression)))], bytes)
            elif step < 0.75:
                kind = rng.choice(["next", "next", "next", "again", "bump"])
                self.append_idempotent(
                    rng.choice(PRODUCERS),
                    records(),
                    kind,
                    Compression.NONE,
                    rng.random() < 0.8,
                    rng.randint(0, 4),
                    0,
                )
            elif step < 0.9:
                control_type = rng.choice([ControlType.COMMIT, ControlType.ABORT])
                self.end_transaction(rng.choice(PRODUCERS), control_type, 0, 0)
            elif step < 0.95:
                self.epoch += 1
            else:
                self.advance_high_watermark(rng.random())
            self.now_ms += rng.randint(0, 500)

    def build(self, records, compression=Compression.NONE, **producer):
        """A batch as a producer sends it, and its timestamps."""
        builder = BatchBuilder(compression, **producer)
        for delta, key, value in records:
            builder.append(self.now_ms + delta, key, value, [("h", b"1")])
        return builder.build(), [self.now_ms + delta for delta, _, _ in records]

    def placed(self, data, timestamps, base_offset, *, is_log_append_time, leader_epoch=None, **facts):
        """The batch as the log must hold it."""
        stored = bytearray(data)
        leader_epoch = self.epoch if leader_epoch is None else leader_epoch
        patch_base_offset(stored, 0, base_offset, leader_epoch)
        if is_log_append_time:
            set_log_append_time(stored, 0, self.now_ms)
            timestamps = [self.now_ms] * len(timestamps)
        records = [(timestamp, base_offset + number) for number, timestamp in enumerate(timestamps)]
        return ModelBatch(
            bytes(stored), base_offset, base_offset + len(records) - 1, leader_epoch, records, **facts
        )

    def append(self, data, origin=AppendOrigin.CLIENT):
        return self.log.append(data, leader_epoch=self.epoch, now_ms=self.now_ms, origin=origin)

    def is_refused(self, data):
        """What one segment cannot hold, the log does not take: a follower could not either."""
        if len(data) <= self.config.segment_bytes:
            return False
        with pytest.raises(RecordTooLarge):
            self.append(bytes(data))
        return True

    @rule(
        batches=st.lists(st.tuples(record_lists, codecs), min_size=1, max_size=3),
        buffer=st.sampled_from([bytes, bytearray, memoryview, lambda data: memoryview(bytearray(data))]),
    )
    def append_batches(self, batches, buffer):
        built = [self.build(records, codec) for records, codec in batches]
        joined = b"".join(bytes(data) for data, _ in built)
        if self.is_refused(joined):
            return
        first_offset = offset = self.model.log_end_offset
        result = self.append(buffer(joined))
        is_log_append_time = self.config.is_log_append_time
        for data, timestamps in built:
            batch = self.placed(data, timestamps, offset, is_log_append_time=is_log_append_time)
            self.model.add(batch)
            offset = batch.last_offset + 1
        assert (result.first_offset, result.last_offset) == (first_offset, offset - 1)
        assert result.log_append_time_ms == (self.now_ms if is_log_append_time else -1)
        assert result.log_start_offset == self.model.log_start_offset
        assert not result.is_duplicate

    @rule(
        producer_id=st.sampled_from(PRODUCERS),
        records=record_lists,
        kind=st.sampled_from(["next", "next", "next", "again", "gap", "bump", "bump to 1", "old epoch"]),
        codec=codecs,
        is_transactional=st.booleans(),
        which=st.integers(0, 4),
        first_sequence=st.sampled_from([0, SEQUENCES - 2]),
    )
    def append_idempotent(self, producer_id, records, kind, codec, is_transactional, which, first_sequence):
        producer = self.model.producers().get(producer_id)
        epoch = max(producer.epoch, 0) if producer else 0
        sequence = (producer.last_sequence + 1) % SEQUENCES if producer else first_sequence
        if kind == "gap":
            sequence = (sequence + 3) % SEQUENCES
        elif kind == "bump":
            epoch, sequence = epoch + 1, 0
        elif kind == "bump to 1":
            epoch, sequence = epoch + 1, 1
        elif kind == "old epoch":
            epoch -= 1
        elif kind == "again" and producer and producer.batches:
            known = self.log.producer_states.entry(producer_id).batches
            again = producer.batches[-1 - which % len(known)]
            sequence = again[0]
            records = (records * 4)[: again[3] - again[2] + 1]
            if len(records) != again[3] - again[2] + 1:
                return
        data, timestamps = self.build(
            records,
            codec,
            producer_id=producer_id,
            producer_epoch=max(epoch, 0),
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        if self.is_refused(data):
            return
        epoch = max(epoch, 0)
        expected = self.expected(producer, producer_id, epoch, sequence, len(records), is_transactional)
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.append(data)
            return
        result = self.append(bytes(data))
        if expected is not None:
            assert result.is_duplicate
            assert (result.first_offset, result.last_offset) == expected
            return
        assert not result.is_duplicate
        assert result.first_offset == self.model.log_end_offset
        batch = self.placed(
            data,
            timestamps,
            self.model.log_end_offset,
            is_log_append_time=self.config.is_log_append_time,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        self.model.add(batch)

    def expected(self, producer, producer_id, epoch, sequence, count, is_transactional):
        """None: taken; a pair of offsets: a duplicate of those; else the error."""
        if producer is None:
            return None
        if epoch == producer.epoch:
            if sequence != (producer.last_sequence + 1) % SEQUENCES:
                remembered = len(self.log.producer_states.entry(producer_id).batches)
                last_sequence = (sequence + count - 1) % SEQUENCES
                for batch in producer.batches[-remembered:] if remembered else []:
                    if batch[:2] == (sequence, last_sequence):
                        return batch[2:]
                return OutOfOrderSequence
        elif epoch < producer.epoch:
            return InvalidProducerEpoch
        elif sequence:
            return OutOfOrderSequence
        if producer.transaction_start >= 0 and not is_transactional:
            return InvalidTxnState
        return None

    @rule(
        producer_id=st.sampled_from(PRODUCERS),
        control_type=st.sampled_from([ControlType.COMMIT, ControlType.ABORT]),
        epoch_bump=st.sampled_from([0, 0, 1, -1]),
        coordinator_bump=st.sampled_from([0, 0, 1, -1]),
    )
    def end_transaction(self, producer_id, control_type, epoch_bump, coordinator_bump):
        producer = self.model.producers().get(producer_id)
        epoch = max((producer.epoch if producer else 0) + epoch_bump, 0)
        coordinator_epoch = max((producer.coordinator_epoch if producer else 0) + coordinator_bump, 0)
        data = build_control_batch(
            control_type,
            self.now_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            coordinator_epoch=coordinator_epoch,
        )
        error = None
        if producer is not None and epoch < producer.epoch:
            error = InvalidProducerEpoch
        elif producer is not None and coordinator_epoch < producer.coordinator_epoch:
            error = TransactionCoordinatorFenced
        if error is not None:
            with pytest.raises(error):
                self.append(data, AppendOrigin.COORDINATOR)
            return
        self.append(bytes(data), AppendOrigin.COORDINATOR)
        batch = self.placed(
            data,
            [self.now_ms],
            self.model.log_end_offset,
            is_log_append_time=False,
            producer_id=producer_id,
            producer_epoch=epoch,
            is_transactional=True,
            marker=control_type.name.lower(),
            coordinator_epoch=coordinator_epoch,
        )
        self.model.add(batch)

    @rule(
        batches=st.lists(st.tuples(record_lists, codecs, gaps, st.sampled_from([0, 0, 1])), max_size=3),
        producer_id=st.sampled_from([-1, -1, *PRODUCERS]),
        is_transactional=st.booleans(),
    )
    def append_as_follower(self, batches, producer_id, is_transactional):
        """What a leader sends: offsets and epochs are its own, there may be gaps after compaction."""
        offset = self.model.log_end_offset
        placed, first_offset = [], None
        for number, (records, codec, gap, epoch_bump) in enumerate(batches):
            producer = {}
            # As a leader would have let it through, and one batch of the producer at most.
            if producer_id >= 0 and number == 0:
                state = self.model.producers().get(producer_id, ModelProducer())
                producer = {
                    "producer_id": producer_id,
                    "producer_epoch": max(state.epoch, 0),
                    "base_sequence": (state.last_sequence + 1) % SEQUENCES,
                    "is_transactional": is_transactional or state.transaction_start >= 0,
                }
            data, timestamps = self.build(records, codec, **producer)
            self.epoch += epoch_bump
            # Only compaction leaves gaps; to the recovery of any other log they are lost records.
            offset += gap if self.config.compact else 0
            batch = self.placed(data, timestamps, offset, is_log_append_time=False, **producer)
            placed.append(batch)
            first_offset = offset if first_offset is None else first_offset
            offset = batch.last_offset + 1
        data = b"".join(batch.data for batch in placed)
        if not placed:
            with pytest.raises(CorruptBatchError):
                self.log.append_as_follower(b"", now_ms=self.now_ms)
            return
        if any(len(batch.data) > self.config.segment_bytes for batch in placed):
            with pytest.raises(RecordTooLarge):
                self.log.append_as_follower(data, now_ms=self.now_ms)
            return
        if placed[-1].last_offset - placed[0].base_offset >= 2**31:
            return  # no segment holds that; a leader never sends it in one piece
        result = self.log.append_as_follower(data, now_ms=self.now_ms)
        for batch in placed:
            self.model.add(batch)
        assert (result.first_offset, result.last_offset) == (first_offset, offset - 1)

    @rule(records=record_lists, back=st.integers(1, 5))
    def follower_refuses_offsets_that_step_back(self, records, back):
        offset = self.model.log_end_offset - back
        if offset >= 0:
            data, _ = self.build(records)
            patch_base_offset(data, 0, offset, self.epoch)
            with pytest.raises(InvalidRecord):
                self.log.append_as_follower(data, now_ms=self.now_ms)

    @rule(milliseconds=st.integers(0, 8_000))
    def time_passes(self, milliseconds):
        self.now_ms += milliseconds

    @rule()
    def new_leader(self):
        self.epoch += 1

    @rule()
    def roll(self):
        self.log.roll(self.now_ms)

    # -- reading ------------------------------------------------------------------------------------

    def offset_at(self, place):
        """An offset by its place between the log's ends: among batches, or beyond; gaps count little."""
        model = self.model
        batches = [batch for batch in model.batches if batch.last_offset >= model.log_start_offset]
        if place < 0 or not batches:
            return max(model.log_start_offset - (place < 0), 0)
        if place >= 1:
            return model.log_end_offset + (place > 1)
        batch = batches[int(place * len(batches))]
        inside = place * len(batches) % 1 * (batch.last_offset - batch.base_offset + 1)
        return batch.base_offset + int(inside)

    @rule(
        place=places,
        upper_place=st.none() | places,
        bytes_max=st.sampled_from([0, 1, 100, 300, 1000, 1 << 20]),
        at_least_one=st.booleans(),
    )
    def read(self, place, upper_place, bytes_max, at_least_one):
        model = self.model
        offset = self.offset_at(place)
        upper = None if upper_place is None else self.offset_at(upper_place)
        if not model.log_start_offset <= offset <= model.log_end_offset:
            with pytest.raises(OffsetOutOfRange):
                self.log.read(offset, bytes_max, upper_offset=upper)
            return
        region = self.log.read(offset, bytes_max, upper_offset=upper, at_least_one_batch=at_least_one)
        upper = model.log_end_offset if upper is None else min(upper, model.log_end_offset)
        batches = model.batches_from(offset, upper) if offset < upper else []
        if not batches or (len(batches[0].data) > bytes_max and not at_least_one):
            assert region is None
            return
        # One read stays within one segment.
        borders = [segment.base_offset for segment in self.log.segments]
        border = next((border for border in borders if border > batches[0].base_offset), 2**63)
        expected = b"".join(batch.data for batch in batches if batch.base_offset < border)
        size = max(bytes_max, len(batches[0].data))
        assert region.read() == expected[:size]
        assert len(region) == min(size, len(expected))

    @rule(delta=timestamps, upper_place=st.none() | places)
    def look_up_a_time(self, delta, upper_place):
        upper = None if upper_place is None else self.offset_at(upper_place)
        records = list(self.model.records(self.model.log_end_offset))
        wanted = records[abs(delta) % len(records)][0] if records and delta % 2 else self.now_ms + delta
        found = self.log.offset_for_timestamp(wanted, upper)
        bound = self.model.log_end_offset if upper is None else upper
        assert found == self.model.offset_for_timestamp(wanted, bound)
        assert self.log.offset_of_max_timestamp(upper) == self.model.offset_of_max_timestamp(bound)

    @rule(epoch=st.integers(-1, 12))
    def look_up_an_epoch(self, epoch):
        found = self.log.leader_epochs.end_offset_for(epoch, self.log.log_end_offset)
        assert tuple(found) == self.model.end_offset_for(epoch)

    # -- cutting ------------------------------------------------------------------------------------

    @rule(place=places, gap=st.sampled_from([0, 0, 1]))
    def truncate(self, place, gap):
        offset = self.offset_at(place) + (gap if self.config.compact else 0)
        was_cut = truncate_to(self.log, offset, self.now_ms)
        assert was_cut == (offset < self.model.log_end_offset)
        if not was_cut:
            return
        self.has_reloaded = True
        model = self.model
        model.truncate_to(offset)
        if not model.batches and self.log.segments[0].base_offset == offset:
            model.start_over(offset)
        # Behind the last batch, or where a segment was begun behind a gap.
        end = model.batches[-1].last_offset + 1 if model.batches else 0
        model.set_end(max(end, self.log.segments.active.base_offset))
        assert model.log_end_offset <= offset
        self.safe_to = min(self.safe_to, model.log_end_offset)

    @precondition(lambda self: len(self.model.batches) > 20)
    @rule(offset=st.sampled_from([0, 3, 2**31 - 8, 2**31]))
    def truncate_fully(self, offset):
        truncate_fully_and_start_at(self.log, offset, self.now_ms)
        self.model.start_over(offset)
        self.safe_to = min(self.safe_to, offset)

    @rule(place=places)
    def advance_high_watermark(self, place):
        offset = self.offset_at(place)
        self.log.advance_high_watermark(offset)
        if offset > self.model.high_watermark:
            self.model.high_watermark = min(offset, self.model.log_end_offset)

    @rule(place=places)
    def delete_records(self, place):
        offset = self.offset_at(place)
        if offset > self.model.high_watermark:
            with pytest.raises(OffsetOutOfRange):
                self.log.delete_records_before(offset)
            return
        self.log.delete_records_before(offset)
        self.model.raise_log_start_offset(offset)

    @rule()
    def apply_retention(self):
        model, config = self.model, self.config
        segments = self.segments_by_model()
        _, batches = segments[-1]
        if batches and (config.retention_bytes == 0 or self.has_expired(batches)):
            segments.append((model.log_end_offset, []))
        expected_start = model.log_start_offset
        while len(segments) > 1 and segments[1][0] <= model.high_watermark:
            total = sum(len(batch.data) for _, batches in segments for batch in batches)
            size = sum(len(batch.data) for batch in segments[0][1])
            too_large = config.retention_bytes >= 0 and total - size >= config.retention_bytes
            is_below_start = segments[1][0] <= model.log_start_offset
            if not (is_below_start or too_large or self.has_expired(segments[0][1])):
                break
            del segments[0]
            expected_start = max(expected_start, segments[0][0])
        renamed = self.log.delete_old_segments(self.now_ms)
        assert [segment.base_offset for segment in self.log.segments] == [base for base, _ in segments]
        assert self.log.log_start_offset == expected_start
        model.raise_log_start_offset(expected_start)
        for path in renamed:
            assert path.name.endswith(".deleted")
            path.unlink()

    def segments_by_model(self):
        """(base offset, batches): where the borders lie is the log's choice, what is between is not."""
        borders = [segment.base_offset for segment in self.log.segments]
        found = []
        for border, following in zip(borders, [*borders[1:], 2**63], strict=True):
            batches = [batch for batch in self.model.batches if border <= batch.base_offset < following]
            found.append((border, batches))
        return found

    def has_expired(self, batches):
        if self.config.retention_ms < 0 or not batches:
            return False
        return self.now_ms - max(batch.max_timestamp for batch in batches) > self.config.retention_ms

    # -- flushing -----------------------------------------------------------------------------------

    @rule()
    def flush(self):
        self.log.flush()
        assert self.log.recovery_point == self.model.log_end_offset

    @precondition(lambda self: self.job is None)
    @rule()
    def begin_flush(self):
        before = self.log.recovery_point
        self.job = self.log.begin_flush()
        if self.job is None:
            assert before == self.model.log_end_offset
        else:
            assert self.job.offset == self.model.log_end_offset
            self.safe_to = self.job.offset

    @precondition(lambda self: self.job is not None)
    @rule()
    def complete_flush(self):
        before = self.log.recovery_point
        self.job.run()
        self.log.complete_flush(self.job)
        assert before <= self.log.recovery_point <= max(before, self.safe_to)
        self.job = None

    # -- closing and opening ------------------------------------------------------------------------

    @rule(damage=st.sampled_from(["none", "none", "delete", "cut", "odd", "zeros"]), which=st.integers(0, 20))
    def close_and_open(self, damage, which):
        self.log.close()
        self.damage_an_index(damage, which)
        self.open(
            was_clean=True,
            recovery_point=self.log.recovery_point,
            log_start_offset=self.model.log_start_offset,
        )
        assert self.report.was_clean
        assert self.log.recovery_point == self.log.log_end_offset
        self.after_open()

    @rule(
        damage=st.sampled_from(["none", "none", "delete", "cut", "odd", "zeros"]),
        which=st.integers(0, 20),
        knows=st.sampled_from(["nothing", "noted", "all"]),
    )
    def abandon_and_open(self, damage, which, knows):
        self.log.abandon()
        self.damage_an_index(damage, which)
        recovery_point = {
            "nothing": 0,
            "noted": min(self.noted.get(OffsetKind.RECOVERY_POINT, 0), self.log.recovery_point),
            "all": self.log.recovery_point,
        }[knows]
        self.open(
            was_clean=False, recovery_point=recovery_point, log_start_offset=self.model.log_start_offset
        )
        assert not self.report.bytes_cut
        assert self.log.recovery_point == min(recovery_point, self.log.log_end_offset)
        self.after_open()

    def after_open(self):
        self.job = None
        self.has_reloaded = True
        self.noted.clear()
        self.model.high_watermark = self.model.log_start_offset

    def damage_an_index(self, damage, which):
        """An index is a hint: gone, short or senseless, it is made anew."""
        paths = sorted([*self.directory.glob("*.index"), *self.directory.glob("*.timeindex")])
        if damage == "none" or not paths:
            return
        path = paths[which % len(paths)]
        data = path.read_bytes()
        if damage == "delete":
            path.unlink()
        elif damage == "cut":
            # Of a time index that ends with a whole entry nobody can tell, without reading the log, that
            # there were more; Kafka cannot either.
            path.write_bytes(data[: len(data) // 2 if path.suffix == ".index" else len(data) // 2 | 1])
        elif damage == "odd":
            path.write_bytes(data + b"x")
        else:
            path.write_bytes(bytes(len(data)))

    # -- what holds at all times --------------------------------------------------------------------

    @invariant()
    def offsets_agree_and_stand_in_their_order(self):
        log, model = self.log, self.model
        assert log.log_start_offset == model.log_start_offset
        assert log.high_watermark == model.high_watermark
        assert log.log_end_offset == model.log_end_offset
        assert log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset
        assert 0 <= log.recovery_point <= log.log_end_offset
        if self.has_reloaded:
            assert model.last_stable_offset() <= log.last_stable_offset <= model.last_stable_offset_at_most()
        else:
            assert log.last_stable_offset == model.last_stable_offset()

    @invariant()
    def producers_are_those_of_a_replay(self):
        producers = self.model.producers()
        states = self.log.producer_states
        assert {entry.producer_id for entry in states.entries()} == set(producers)
        for producer_id, producer in producers.items():
            entry = states.entry(producer_id)
            remembered = [batch[:4] for batch in entry.batches]
            assert remembered == producer.batches[len(producer.batches) - len(remembered) :]
            least = min(len(producer.batches), 1 if self.has_reloaded else 5)
            assert least <= len(remembered) <= 5
            assert entry.producer_epoch == producer.epoch
            assert entry.last_sequence == producer.last_sequence
            assert entry.coordinator_epoch == producer.coordinator_epoch
            assert entry.current_txn_first_offset == producer.transaction_start

    @invariant()
    def aborted_transactions_are_indexed_where_their_markers_stand(self):
        base = self.log.segments[0].base_offset
        found = [tuple(entry) for segment in self.log.segments for entry in segment.transaction_index.entries]
        assert found == [
            (aborted.producer_id, aborted.first_offset, aborted.last_offset, aborted.last_stable_offset)
            for aborted in self.model.aborted(base)
        ]

    @invariant()
    def every_byte_is_where_it_should_be(self):
        for segment, (base, batches) in zip(self.log.segments, self.segments_by_model(), strict=True):
            data = segment.path(".log").read_bytes()
            assert data == b"".join(batch.data for batch in batches)
            assert segment.size == len(data)
            if batches:
                assert segment.max_timestamp == max(batch.max_timestamp for batch in batches)
                assert batches[-1].last_offset - base < 2**31

    @invariant()
    def no_file_is_left_behind(self):
        logs = {f"{segment.base_offset:020d}" for segment in self.log.segments}
        for name in os.listdir(self.directory):
            stem, _, suffix = name.partition(".")
            if suffix in ("log", "index", "timeindex", "txnindex"):
                assert stem in logs, name
            else:
                assert suffix == "snapshot" or name == "leader-epoch-checkpoint", name

    @invariant()
    def epochs_are_those_of_the_batches(self):
        for batch in self.model.batches:
            if batch.base_offset >= self.model.log_start_offset:
                assert self.log.leader_epochs.epoch_for_offset(batch.base_offset) == batch.leader_epoch


TestPartitionLogWithoutFsync = PartitionLogMachine.TestCase
TestPartitionLogWithoutFsync.settings = model_settings(100, 40)
