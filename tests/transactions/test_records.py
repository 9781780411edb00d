import pytest
from tests.transactions.clients import tp

from distributedlog.transactions import TransactionConfig, TransactionCoordinator, TransactionMetadata
from distributedlog.transactions.records import encoded_record, metadata_of
from distributedlog.transactions.states import TransactionState
from distributedlog.wire.errors import ProtocolError
from distributedlog.wire.values.transaction_state import (
    TransactionLogKey,
    TransactionLogValue,
    decode_transaction_key,
    decode_transaction_value,
    encode_transaction_key,
    encode_transaction_value,
)

FULL = TransactionMetadata(
    "payments",
    producer_id=77,
    producer_epoch=32767,
    timeout_ms=60_000,
    last_update_ms=2_000,
    state=TransactionState.PREPARE_COMMIT,
    partitions=frozenset({tp("b-1"), tp("a-0"), tp("b-0")}),
    start_ms=1_000,
    previous_producer_id=76,
    next_producer_id=78,
    client_version=2,
    last_producer_epoch=32766,
)


def decoded(record):
    key = decode_transaction_key(record[0])
    return metadata_of(key.transactional_id, decode_transaction_value(key, record[1]))


def test_version_1_holds_all_but_the_last_epoch():
    record = encoded_record("payments", FULL, transaction_version=2)
    assert record[1][:2] == b"\x00\x01"
    assert decoded(record) == FULL
    assert decoded(record).last_producer_epoch == -1


def test_partitions_are_written_in_their_order():
    value = decode_transaction_value(TransactionLogKey("payments"), encoded_record("payments", FULL, 2)[1])
    topics = [(topic.topic, topic.partition_ids) for topic in value.transaction_partitions]
    assert topics == [("a", [0]), ("b", [0, 1])]


def test_before_level_1_records_have_no_tags():
    record = encoded_record("payments", FULL, transaction_version=0)
    assert record[1][:2] == b"\x00\x00"
    read = decoded(record)
    assert (read.previous_producer_id, read.next_producer_id, read.client_version) == (-1, -1, 0)
    assert (read.producer_id, read.partitions, read.state) == (77, FULL.partitions, FULL.state)


def test_an_empty_transaction_has_null_in_place_of_partitions():
    empty = TransactionMetadata("payments", 1, 0, 60_000, 5)
    key, value = encoded_record("payments", empty, 2)
    assert decode_transaction_value(decode_transaction_key(key), value).transaction_partitions is None
    assert decoded((key, value)) == empty


def test_a_tombstone_deletes_and_unknown_kinds_are_passed_over():
    coordinator = TransactionCoordinator(TransactionConfig(), 0)
    coordinator.replay(*encoded_record("payments", FULL, 2))
    coordinator.replay(b"\x00\x09whatever", b"new")
    assert coordinator.state.transactions == {"payments": FULL}
    coordinator.replay(*encoded_record("payments", None, 2))
    coordinator.replay(*encoded_record("never there", None, 2))
    assert coordinator.state.transactions == {}
    assert coordinator.state.prepared == set()


@pytest.mark.parametrize("status", [6, 7, 8, -1])
def test_a_status_that_no_coordinator_writes_is_an_error(status):
    value = encode_transaction_value(TransactionLogValue(transaction_status=status))
    with pytest.raises(ProtocolError):
        TransactionCoordinator(TransactionConfig(), 0).replay(
            encode_transaction_key(TransactionLogKey("t")), value
        )
