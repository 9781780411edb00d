"""Which step follows which, and which batches are refused. The rest is in the simulation."""

import pytest

from distributedlog.spark.commit_protocol import (
    Batch,
    CheckpointSetBack,
    CommitProtocol,
    DriverSuperseded,
    Step,
)
from distributedlog.spark.commit_record import RUNS_MAX, CommitRecord, UnreadableRecord, newest

RUN, OTHER = "aaaaaaaa-aaaa-aaaa", "bbbbbbbb-bbbb-bbbb"


def knowing(record, batch):
    protocol = CommitProtocol()
    protocol.begin(batch)
    protocol.done(Step.CLAIM)
    protocol.done(Step.READ_RECORD, record)
    return protocol


def steps_of(protocol):
    found = []
    while (step := protocol.next_step()) is not Step.NOTHING:
        found.append(step)
        protocol.done(step, CommitRecord() if step is Step.READ_RECORD else None)
    return found


def test_the_first_batch_claims_and_the_next_does_not():
    protocol = CommitProtocol()
    protocol.begin(Batch(0, RUN))
    writing = [Step.ADD_PARTITIONS, Step.WRITE_DATA, Step.WRITE_RECORD, Step.COMMIT]
    assert steps_of(protocol) == [Step.CLAIM, Step.READ_RECORD, *writing]
    protocol.begin(Batch(1, RUN))
    assert steps_of(protocol) == writing
    assert protocol.record.batch_id == 1


def test_what_is_recorded_is_not_written_again():
    assert knowing(CommitRecord(4, ()), Batch(4, RUN)).next_step() is Step.NOTHING


def test_after_a_failure_everything_is_found_out_anew():
    protocol = knowing(CommitRecord(), Batch(0, RUN))
    protocol.done(Step.ADD_PARTITIONS)
    assert protocol.has_open_transaction
    protocol.failed()
    assert protocol.next_step() is Step.CLAIM


def test_a_batch_that_was_left_in_the_middle_is_begun_anew():
    protocol = knowing(CommitRecord(), Batch(0, RUN))
    protocol.done(Step.ADD_PARTITIONS)
    protocol.begin(Batch(0, RUN))
    assert protocol.next_step() is Step.CLAIM


def test_a_run_that_was_superseded_is_refused_and_a_new_one_takes_over():
    record = CommitRecord().followed_by(1, RUN).followed_by(2, OTHER)
    with pytest.raises(DriverSuperseded, match="Two drivers"):
        knowing(record, Batch(3, RUN)).next_step()
    assert knowing(record, Batch(3, OTHER)).next_step() is Step.ADD_PARTITIONS
    assert knowing(record, Batch(3, "cccc")).next_step() is Step.ADD_PARTITIONS


def test_an_old_checkpoint_is_refused():
    with pytest.raises(CheckpointSetBack, match="batch 7"):
        knowing(CommitRecord(7, ()), Batch(5, RUN)).next_step()


def test_a_record_survives_its_way_through_the_broker_and_stays_small():
    record = CommitRecord()
    for batch in range(3 * RUNS_MAX):
        record = record.followed_by(batch, f"{batch:032x}"[::-1])
    assert CommitRecord.parse(record.batch_id, record.metadata()) == record
    assert len(record.runs) == RUNS_MAX
    assert len(record.metadata()) < 4096


@pytest.mark.parametrize("metadata", [None, "", "[]", "{}", "hello", '{"v":2,"runs":[]}', "7"])
def test_a_strangers_record_is_refused(metadata):
    with pytest.raises(UnreadableRecord):
        CommitRecord.parse(1, metadata)


def test_the_newest_of_the_topics_records_counts():
    assert newest([CommitRecord(3), CommitRecord(9), CommitRecord(5)]).batch_id == 9
    assert newest([]).batch_id == -1
