"""Which open transactions hang, decided from what partitions and coordinators tell."""

from dataclasses import replace

import pytest

from distributedlog.client import TopicPartition
from distributedlog.client.hanging_transactions import hanging_of
from distributedlog.client.transactions import ProducerState, TransactionDescription

PARTITION = TopicPartition("t", 0)
PRODUCER = ProducerState(7, 3, 0, 1000, 0, start_offset=5)
TRANSACTION = TransactionDescription("x", "Ongoing", 7, 3, 60_000, 900, (PARTITION,), 1)


def reason(transaction, *, name="x"):
    """Why it hangs; None where it does not."""
    ids = {7: name} if name else {}
    found = hanging_of([(PARTITION, PRODUCER)], ids, {"x": transaction} if transaction else {})
    return found[0].reason if found else None


@pytest.mark.parametrize("state", ["Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"])
def test_what_the_coordinator_has_open_does_not_hang(state):
    assert reason(replace(TRANSACTION, state=state)) is None


def test_a_coordinator_that_has_raised_the_epoch_to_abort_it_will_do_so():
    assert reason(replace(TRANSACTION, state="PrepareAbort", producer_epoch=4)) is None


@pytest.mark.parametrize(
    ("transaction", "name", "expected"),
    [
        pytest.param(None, None, "no coordinator knows its producer", id="unknown producer"),
        pytest.param(None, "x", "no coordinator knows its producer", id="expired since it was listed"),
        pytest.param(
            replace(TRANSACTION, producer_id=8), "x", "x has another producer now", id="other producer"
        ),
        pytest.param(
            replace(TRANSACTION, producer_epoch=2), "x", "its epoch is higher than that of x", id="epoch"
        ),
        pytest.param(
            replace(TRANSACTION, state="CompleteCommit"), "x", "x has no open transaction", id="complete"
        ),
        pytest.param(replace(TRANSACTION, state="Empty"), "x", "x has no open transaction", id="empty"),
        pytest.param(
            replace(TRANSACTION, partitions=(TopicPartition("t", 1),)),
            "x",
            "the open transaction of x does not have this partition",
            id="other partitions",
        ),
    ],
)
def test_what_hangs(transaction, name, expected):
    assert reason(transaction, name=name) == expected


def test_the_transactional_id_is_named_where_it_is_known():
    [found] = hanging_of([(PARTITION, PRODUCER)], {7: "x"}, {"x": replace(TRANSACTION, state="Empty")})
    assert (found.partition, found.producer.start_offset, found.transactional_id) == (PARTITION, 5, "x")
