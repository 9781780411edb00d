"""Which records of a fetch a reader of committed data sees."""

from distributedlog.client.committed_records import readable_batches
from distributedlog.records import ControlType, build_control_batch, encode_batch


def batch(base_offset, *values, producer_id=-1):
    is_transactional = producer_id >= 0
    return encode_batch(
        [(0, None, value, ()) for value in values],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0 if is_transactional else -1,
        base_sequence=0 if is_transactional else -1,
        is_transactional=is_transactional,
    )


def marker(kind, base_offset, producer_id):
    return build_control_batch(kind, 0, producer_id=producer_id, producer_epoch=0, base_offset=base_offset)


def seen(data, aborted=()):
    batches = list(readable_batches(bytes(data), aborted))
    return [record.value for records, _ in batches for record in records], batches[-1][1]


ABORTED_THEN_COMMITTED = (
    batch(0, b"plain")
    + batch(1, b"bad-1", b"bad-2", producer_id=7)
    + batch(3, b"other", producer_id=8)
    + marker(ControlType.ABORT, 4, 7)
    + batch(5, b"good", producer_id=7)
    + marker(ControlType.COMMIT, 6, 7)
    + marker(ControlType.COMMIT, 7, 8)
)


def test_aborted_records_are_left_out_and_those_of_a_later_transaction_are_not():
    assert seen(ABORTED_THEN_COMMITTED, [(7, 1)]) == ([b"plain", b"other", b"good"], 8)


def test_readers_of_uncommitted_data_see_all_but_the_markers():
    values = [b"plain", b"bad-1", b"bad-2", b"other", b"good"]
    assert seen(ABORTED_THEN_COMMITTED) == (values, 8)


def test_two_aborted_transactions_of_one_producer():
    data = (
        batch(0, b"bad", producer_id=7)
        + marker(ControlType.ABORT, 1, 7)
        + batch(2, b"good", producer_id=7)
        + marker(ControlType.COMMIT, 3, 7)
        + batch(4, b"bad", producer_id=7)
        + marker(ControlType.ABORT, 5, 7)
    )
    assert seen(data, [(7, 4), (7, 0)]) == ([b"good"], 6)


def test_records_outside_of_transactions_are_never_aborted():
    data = batch(0, b"bad", producer_id=7) + batch(1, b"plain")
    assert seen(data, [(7, 0)]) == ([b"plain"], 2)


def test_a_partial_batch_at_the_end_is_left_for_the_next_fetch():
    assert seen((batch(0, b"whole") + batch(1, b"cut"))[:-1]) == ([b"whole"], 1)
