"""Histories of a few events, each with one fault in it, and beside it the right one that looks most like
it.
"""

import pytest
from tests.checkers.check import check
from tests.checkers.events import (
    Abort,
    Aborted,
    Assign,
    Begin,
    Commit,
    CommitOffsets,
    Committed,
    GroupOffsets,
    InvalidHistory,
    NotSent,
    Poll,
    Send,
    Sent,
    StableOffsets,
)
from tests.checkers.findings import Anomaly

PARTITION, OTHER = "t-0", "t-1"


class Story:
    """Writes a history in the order in which it is told."""

    def __init__(self):
        self.events = []

    def tell(self, kind, process, *arguments, **named):
        self.events.append(kind(len(self.events), process, *arguments, **named))
        return self

    def begin(self, transaction, process="p", producer=""):
        return self.tell(Begin, process, transaction, producer)

    def send(self, value, offset=None, transaction=None, partition=PARTITION, process="p", effect=None):
        self.tell(Send, process, partition, value, transaction, effect)
        return self if offset is None else self.tell(Sent, process, partition, value, offset)

    def commit(self, transaction, process="p"):
        return self.tell(Commit, process, transaction).tell(Committed, process, transaction)

    def abort(self, transaction, process="p"):
        return self.tell(Abort, process, transaction).tell(Aborted, process, transaction)

    def assign(self, process="r", is_read_committed=True, **positions):
        positions = {name.replace("_", "-"): start for name, start in positions.items()} or {PARTITION: 0}
        return self.tell(Assign, process, positions, is_read_committed)

    def poll(self, *records, process="r", partition=PARTITION, transaction=None):
        return self.tell(Poll, process, len(self.events) - 1, {partition: records}, transaction)

    def group(self, offset, process="r", since=None):
        since = len(self.events) - 1 if since is None else since
        return self.tell(GroupOffsets, process, since, "g", {PARTITION: offset})

    def offsets(self, transaction, offset, process="p"):
        return self.tell(CommitOffsets, process, transaction, "g", {PARTITION: offset})

    def stable(self, offset, partition=PARTITION):
        return self.tell(StableOffsets, "r", len(self.events) - 1, {partition: offset})

    def found(self, **options):
        return {finding.anomaly for finding in check(self.events, **options)}


def written(*values, transaction="t"):
    """A committed transaction with these values from offset 0 on."""
    story = Story().begin(transaction)
    for offset, value in enumerate(values):
        story.send(value, offset, transaction)
    return story.commit(transaction)


def test_a_right_history():
    assert written("a", "b").assign().poll((0, "a"), (1, "b")).found() == set()


def test_lost_write():
    story = written("a", "b", "c").assign().poll((0, "a"), (2, "c"))
    assert Anomaly.LOST_WRITE in story.found(is_read_to_the_end=False)


def test_a_write_is_not_lost_where_nobody_has_read_past_it():
    story = written("a", "b", "c").assign(t_0=1).poll((1, "b"))
    assert story.found(is_read_to_the_end=False) == set()


def test_an_acknowledged_write_outside_of_transactions_can_be_lost():
    story = Story().send("a", 0).send("b", 1).assign().poll((1, "b"))
    assert Anomaly.LOST_WRITE in story.found()


def test_what_was_not_acknowledged_outside_of_transactions_may_be_missing():
    assert Story().send("a").send("b", 1).assign().poll((1, "b")).found() == set()


def test_unseen():
    story = written("a", "b").assign().poll((0, "a"))
    assert story.found() == {Anomaly.UNSEEN, Anomaly.TORN_TRANSACTION}
    assert story.found(is_read_to_the_end=False) == set()


def test_aborted_read():
    story = Story().begin("t").send("a", 0, "t").abort("t").assign().poll((0, "a"))
    assert story.found() == {Anomaly.ABORTED_READ}


def test_a_read_of_what_was_never_asked_to_be_committed():
    story = Story().begin("t").send("a", 0, "t").assign().poll((0, "a"))
    assert story.found() == {Anomaly.ABORTED_READ}


def test_readers_of_uncommitted_data_may_see_what_is_aborted():
    story = Story().begin("t").send("a", 0, "t").abort("t").assign(is_read_committed=False)
    assert story.poll((0, "a")).found() == set()


def test_a_commit_without_an_answer_may_have_happened_or_not():
    story = Story().begin("t").send("a", 0, "t").tell(Commit, "p", "t")
    assert story.found() == set()
    assert story.assign().poll((0, "a")).found() == set()


def test_early_read():
    story = Story().begin("t").send("a", 0, "t").assign().poll((0, "a")).commit("t")
    assert story.found() == {Anomaly.EARLY_READ}


def test_phantom():
    assert written("a").assign().poll((0, "a"), (1, "x")).found() == {Anomaly.PHANTOM}
    refused = Story().send("a").tell(NotSent, "p", PARTITION, "a").assign().poll((0, "a"))
    assert Anomaly.PHANTOM in refused.found()


def test_a_value_in_another_partition_than_its_own_is_a_phantom():
    story = written("a").assign(t_0=0, t_1=0).poll((0, "a")).poll((0, "a"), partition=OTHER)
    assert story.found() == {Anomaly.PHANTOM}


def test_duplicate():
    assert written("a").assign().poll((0, "a"), (2, "a")).found() == {Anomaly.DUPLICATE}


def test_an_acknowledgement_of_another_offset_than_where_it_is_read_is_a_duplicate():
    assert Anomaly.DUPLICATE in Story().send("a", 5).assign().poll((0, "a")).found()


def test_one_effect_by_two_transactions():
    story = Story().begin("t").send("a", 0, "t", effect="of 1").commit("t")
    story.begin("u").send("b", 2, "u", effect="of 1").commit("u")
    assert story.assign().poll((0, "a"), (2, "b")).found() == {Anomaly.DUPLICATE}


def test_one_effect_by_the_second_try():
    story = Story().begin("t").send("a", 0, "t", effect="of 1").abort("t")
    story.begin("u").send("b", 2, "u", effect="of 1").commit("u")
    assert story.assign().poll((2, "b")).found() == set()


def test_inconsistent_offsets():
    story = Story().send("a", 0).send("b", process="q").assign().poll((0, "a")).assign("s")
    assert story.poll((0, "b"), process="s").found() == {Anomaly.INCONSISTENT_OFFSETS}


def test_poll_skip():
    story = written("a", "b", "c").assign("s").poll((0, "a"), (1, "b"), (2, "c"), process="s")
    between_polls = [*story.events]
    story.assign().poll((0, "a")).poll((2, "c"))
    assert story.found() == {Anomaly.POLL_SKIP}
    story.events = between_polls
    assert story.assign().poll((0, "a"), (2, "c")).found() == {Anomaly.INTERNAL_POLL_SKIP}


def test_the_first_poll_skips_what_lies_behind_the_start():
    story = written("a", "b").assign("s").poll((0, "a"), (1, "b"), process="s")
    assert story.assign(t_0=0).poll((1, "b")).found() == {Anomaly.POLL_SKIP}


def test_going_over_markers_and_aborted_records_skips_nothing():
    story = written("a").begin("u").send("x", 2, "u").abort("u").begin("v").send("b", 4, "v").commit("v")
    assert story.assign().poll((0, "a"), (4, "b")).found() == set()


def test_nonmonotonic_poll():
    story = written("a", "b").assign().poll((0, "a"), (1, "b")).poll((1, "b"))
    assert story.found() == {Anomaly.NONMONOTONIC_POLL}
    story = written("a", "b").assign().poll((1, "b"), (0, "a"))
    assert Anomaly.INTERNAL_NONMONOTONIC_POLL in story.found()


def test_after_an_assignment_a_reader_may_begin_anywhere():
    story = written("a", "b").assign().poll((0, "a"), (1, "b")).assign(t_0=0)
    assert story.poll((0, "a"), (1, "b")).found() == set()


def test_nonmonotonic_send():
    read = ((0, "b"), (1, "a"))
    story = Story().send("a", 1).send("b", 0).assign().poll(*read)
    assert story.found() == {Anomaly.NONMONOTONIC_SEND}
    story = Story().begin("t").send("a", 1, "t").send("b", 0, "t").commit("t").assign().poll(*read)
    assert story.found() == {Anomaly.INTERNAL_NONMONOTONIC_SEND}


def test_nonmonotonic_send_over_what_lies_between():
    """The third lies behind the second, which is of its own transaction, and before the first."""
    story = Story().begin("t").send("a", 9, "t").commit("t")
    story.begin("u").send("b", 10, "u").send("c", 11, "u").commit("u")
    assert story.found(is_read_to_the_end=False) == set()
    story.begin("v").send("d", 5, "v").send("e", 7, "v").commit("v")
    assert story.found(is_read_to_the_end=False) == {Anomaly.NONMONOTONIC_SEND}


def circular(*, second_reads):
    story = Story().assign("p", t_1=0).assign("q", t_0=0).begin("t").begin("u", "q")
    story.send("a", 0, "t").send("b", 0, "u", OTHER, "q")
    story.poll((0, "a"), process="q", transaction="u")
    if second_reads:
        story.poll((0, "b"), process="p", partition=OTHER, transaction="t")
    story.commit("t").commit("u", "q").assign(t_0=0, t_1=0)
    return story.poll((0, "a")).poll((0, "b"), partition=OTHER)


def test_circular_flow():
    assert Anomaly.CIRCULAR_FLOW in circular(second_reads=True).found()
    assert Anomaly.CIRCULAR_FLOW not in circular(second_reads=False).found()


def test_reading_what_the_transaction_wrote_itself_is_no_circle():
    story = Story().assign("p", is_read_committed=False).begin("t").send("a", 0, "t")
    story.poll((0, "a"), process="p", transaction="t").commit("t").assign().poll((0, "a"))
    assert story.found() == set()


def test_torn_transaction():
    story = Story().begin("t").send("a", 0, "t").send("b", 0, "t", OTHER).tell(Commit, "p", "t")
    story.assign(t_0=0, t_1=0).poll((0, "a"))
    assert story.found() == {Anomaly.TORN_TRANSACTION, Anomaly.UNSEEN}
    assert story.found(is_read_to_the_end=False) == set()


def hanging(*, later_is_seen):
    story = Story().begin("t").send("a", 0, "t").send("b", 0, "t", OTHER).commit("t")
    story.begin("u").send("c", 2, "u").commit("u").assign(t_0=0, t_1=0)
    story.poll((0, "a"), *([(2, "c")] if later_is_seen else []))
    return story.stable(0, OTHER)


def test_a_partition_that_stands_at_a_transaction_that_is_over():
    assert hanging(later_is_seen=True).found(is_read_to_the_end=False) == {Anomaly.TORN_TRANSACTION}
    assert hanging(later_is_seen=False).found(is_read_to_the_end=False) == set()


def test_offsets_without_the_records():
    story = Story().begin("t").send("a", 0, "t", OTHER).offsets("t", 5).tell(Commit, "p", "t").group(5)
    assert story.found() == {Anomaly.TORN_TRANSACTION}


def test_aborted_offsets():
    story = Story().begin("t").offsets("t", 5).abort("t")
    assert story.group(5).found() == {Anomaly.ABORTED_OFFSETS}
    assert Story().group(3).found() == {Anomaly.ABORTED_OFFSETS}
    assert Story().group(-1).found() == set()


def test_stale_offsets():
    story = Story().begin("t").offsets("t", 5).commit("t").begin("u").offsets("u", 7).commit("u")
    assert story.group(5).found() == {Anomaly.STALE_OFFSETS}


def test_offsets_of_a_commit_that_is_under_way():
    for told in (5, 7):
        story = Story().begin("t").offsets("t", 5).commit("t").begin("u").offsets("u", 7)
        story.tell(Commit, "p", "u").group(told).tell(Committed, "p", "u")
        assert story.found() == set()


def test_offsets_of_a_commit_that_was_answered_while_they_were_asked_for():
    story = Story().begin("t").offsets("t", 5).commit("t").begin("u").offsets("u", 7)
    since = len(story.events)
    assert story.commit("u").group(5, since=since).found() == set()


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(Story().send("a").send("a"), id="a value sent twice"),
        pytest.param(Story().begin("t").begin("t"), id="a transaction begun twice"),
        pytest.param(Story().send("a", 0, "t"), id="a transaction that was not begun"),
        pytest.param(Story().tell(Sent, "p", PARTITION, "a", 0), id="an answer to nothing"),
    ],
)
def test_a_recorder_that_is_wrong(story):
    with pytest.raises(InvalidHistory):
        story.found()
