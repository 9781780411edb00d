"""The records of ``__transaction_state``: what is known of one transactional id, as Kafka writes it."""

from distributedlog.transactions.metadata import TopicPartition, TransactionMetadata
from distributedlog.transactions.states import TransactionState
from distributedlog.wire.errors import ProtocolError
from distributedlog.wire.values.transaction_state import (
    TransactionLogKey,
    TransactionLogValue,
    TransactionPartitions,
    encode_transaction_key,
    encode_transaction_value,
)

#: The feature level from which on records have the tagged fields of KIP-890.
FLEXIBLE_LEVEL = 1
_TRANSIENT_STATES = frozenset({TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE})


def encoded_record(
    transactional_id: str, metadata: TransactionMetadata | None, transaction_version: int
) -> tuple[bytes, bytes | None]:
    """Key and value; None in place of metadata makes a tombstone."""
    key = encode_transaction_key(TransactionLogKey(transactional_id))
    if metadata is None:
        return key, None
    version = 1 if transaction_version >= FLEXIBLE_LEVEL else 0
    return key, encode_transaction_value(value_of(metadata, version), version)


def value_of(metadata: TransactionMetadata, version: int) -> TransactionLogValue:
    """The value; version 0 has no room for all of it."""
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state,
        transaction_partitions=_by_topic(metadata),
        transaction_last_update_timestamp_ms=metadata.last_update_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
    )
    if version >= 1:
        value.previous_producer_id = metadata.previous_producer_id
        value.next_producer_id = metadata.next_producer_id
        value.client_transaction_version = metadata.client_version
    return value


def metadata_of(transactional_id: str, value: TransactionLogValue) -> TransactionMetadata:
    """What a value says; ProtocolError where it says what no coordinator writes."""
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise ProtocolError(f"a transaction has the unknown status {value.transaction_status}") from None
    if state in _TRANSIENT_STATES:
        raise ProtocolError(f"a transaction in the log has the passing state {state.label}")
    return TransactionMetadata(
        transactional_id,
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        value.transaction_last_update_timestamp_ms,
        state,
        frozenset(
            TopicPartition(topic.topic, partition)
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        value.transaction_start_timestamp_ms,
        value.previous_producer_id,
        value.next_producer_id,
        value.client_transaction_version,
    )


def _by_topic(metadata: TransactionMetadata) -> list[TransactionPartitions] | None:
    if metadata.state is TransactionState.EMPTY:
        return None
    topics: dict[str, TransactionPartitions] = {}
    for topic, partition in sorted(metadata.partitions):
        topics.setdefault(topic, TransactionPartitions(topic)).partition_ids.append(partition)
    return list(topics.values())
