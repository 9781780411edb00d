"""Keys and values of the records in ``__consumer_offsets``.

The first two bytes of a key name the type of the record, those of a value the version of its format.
A record with a null value deletes what its key names.
"""

from typing import Any, Final

from distributedlog.wire.primitives import Buffer
from distributedlog.wire.values.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from distributedlog.wire.values.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from distributedlog.wire.values.record_types import RecordType, RecordTypes
from distributedlog.wire.values.unknown import UnknownKey
from distributedlog.wire.values.versioned import Versioned

_OFFSET_COMMIT_VALUE: Final = Versioned(OffsetCommitValue, last=4, flexible_from=4)

OFFSETS_RECORD_TYPES: Final = RecordTypes(
    # Type 0 is the key of long ago, with the same fields; it is read and no longer written.
    RecordType(0, OffsetCommitKey, _OFFSET_COMMIT_VALUE),
    RecordType(1, OffsetCommitKey, _OFFSET_COMMIT_VALUE),
    RecordType(2, GroupMetadataKey, Versioned(GroupMetadataValue, last=4, flexible_from=4)),
    RecordType(3, ConsumerGroupMetadataKey, Versioned(ConsumerGroupMetadataValue, 0, 0)),
    RecordType(4, ConsumerGroupPartitionMetadataKey, Versioned(ConsumerGroupPartitionMetadataValue, 0, 0)),
    RecordType(5, ConsumerGroupMemberMetadataKey, Versioned(ConsumerGroupMemberMetadataValue, 0, 0)),
    RecordType(
        6,
        ConsumerGroupTargetAssignmentMetadataKey,
        Versioned(ConsumerGroupTargetAssignmentMetadataValue, 0, 0),
    ),
    RecordType(
        7,
        ConsumerGroupTargetAssignmentMemberKey,
        Versioned(ConsumerGroupTargetAssignmentMemberValue, 0, 0),
    ),
    RecordType(
        8,
        ConsumerGroupCurrentMemberAssignmentKey,
        Versioned(ConsumerGroupCurrentMemberAssignmentValue, 0, 0),
    ),
    RecordType(16, ConsumerGroupRegularExpressionKey, Versioned(ConsumerGroupRegularExpressionValue, 0, 0)),
)

OffsetsKey = (
    OffsetCommitKey
    | GroupMetadataKey
    | ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)


def encode_offsets_key(key: OffsetsKey) -> bytes:
    """The key of a record."""
    return OFFSETS_RECORD_TYPES.encode_key(key)


def decode_offsets_key(data: Buffer) -> OffsetsKey | UnknownKey:
    """The key of a record; an `UnknownKey` where its type is none of ours."""
    key: OffsetsKey | UnknownKey = OFFSETS_RECORD_TYPES.decode_key(data)
    return key


def encode_offsets_value(value: Any, version: int | None = None) -> bytes:
    """The value of a record, in its newest version where none is named."""
    return OFFSETS_RECORD_TYPES.encode_value(value, version)


def decode_offsets_value(key: OffsetsKey, data: Buffer | None) -> Any:
    """The value that belongs to a key; None for the null that deletes it."""
    return OFFSETS_RECORD_TYPES.decode_value(key, data)
