"""Which batches a read_committed reader leaves out, against a reader that looks at everything at once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from distributedlog.records.columns_read_committed import AbortedTransaction, BatchInOrder, find_aborted


@st.composite
def histories(draw):
    """Batches of some producers, who end each transaction with a marker; and what became of each batch."""
    batches, markers, fates, aborted = [], {}, {}, []
    open_transactions = {}
    offset = 0
    for _ in range(draw(st.integers(0, 25))):
        producer = draw(st.integers(1, 3))
        action = draw(st.sampled_from(["write", "write", "write", "outside", "end"]))
        if action == "end" and producer not in open_transactions:
            continue
        if action == "write":
            open_transactions.setdefault(producer, []).append(len(batches))
        elif action == "end":
            is_abort = draw(st.booleans())
            written = open_transactions.pop(producer)
            markers[len(batches)] = is_abort
            fates.update(dict.fromkeys(written, is_abort))
            if is_abort:
                aborted.append(
                    AbortedTransaction(
                        producer,
                        batches[written[0]].base_offset,
                        offset if draw(st.booleans()) else None,
                    )
                )
        size = 1 if action == "end" else draw(st.integers(1, 4))
        batches.append(
            BatchInOrder(
                offset,
                offset + size - 1,
                -1 if action == "outside" else producer,
                action in ("write", "end"),
                action == "end",
            )
        )
        offset += size
    return batches, markers, fates, aborted


@settings(max_examples=200)
@given(histories(), st.randoms(use_true_random=False))
def test_exactly_the_batches_of_aborted_transactions(history, random):
    batches, markers, fates, aborted = history
    random.shuffle(aborted)
    assert find_aborted(batches, aborted, markers.__getitem__) == sorted(
        index for index, is_aborted in fates.items() if is_aborted
    )


@settings(max_examples=200)
@given(histories(), st.integers(0, 25))
def test_reading_from_the_middle(history, first):
    """A reader from the middle is told of the transactions that reach into what it reads."""
    batches, markers, fates, aborted = history
    rest = batches[first:]
    reaching = []
    for producer_id, first_offset, _ in aborted:
        end = next(
            index
            for index, batch in enumerate(batches)
            if batch.is_control and batch.producer_id == producer_id and batch.base_offset > first_offset
        )
        if end >= first:
            reaching.append(AbortedTransaction(producer_id, first_offset))
    assert find_aborted(rest, reaching, lambda index: markers[index + first]) == sorted(
        index - first for index, is_aborted in fates.items() if is_aborted and index >= first
    )


def test_a_transaction_that_ended_before_the_first_batch_is_known_by_its_last_offset():
    batch = BatchInOrder(50, 59, 7, True, False)
    assert find_aborted([batch], [AbortedTransaction(7, 10, 20)], lambda _: True) == []
    assert find_aborted([batch], [AbortedTransaction(7, 10)], lambda _: True) == [0]
