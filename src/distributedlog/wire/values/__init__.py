"""Formats inside of messages and records, which carry a version of their own before them.

The consumer protocol inside JoinGroup and SyncGroup, and the records of the topics in which the
coordinators keep their state.
"""

from distributedlog.wire.values.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from distributedlog.wire.values.offsets_topic import (
    decode_offsets_key,
    decode_offsets_value,
    encode_offsets_key,
    encode_offsets_value,
)
from distributedlog.wire.values.transaction_state import (
    decode_transaction_key,
    decode_transaction_value,
    encode_transaction_key,
    encode_transaction_value,
)
from distributedlog.wire.values.unknown import UnknownKey

__all__ = [
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "TopicPartitions",
    "UnknownKey",
    "decode_assignment",
    "decode_offsets_key",
    "decode_offsets_value",
    "decode_subscription",
    "decode_transaction_key",
    "decode_transaction_value",
    "encode_assignment",
    "encode_offsets_key",
    "encode_offsets_value",
    "encode_subscription",
    "encode_transaction_key",
    "encode_transaction_value",
]
