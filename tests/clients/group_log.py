"""What a group went through, as the broker wrote it down in `__consumer_offsets`."""

from tests.broker_fire.asking import whole_records_of

from distributedlog.wire.k16_list_groups import ListGroupsRequest
from distributedlog.wire.values.consumer_group_records import ConsumerGroupMetadataKey
from distributedlog.wire.values.group_records import GroupMetadataKey
from distributedlog.wire.values.offsets_topic import decode_offsets_key, decode_offsets_value

LIST_GROUPS = 16
OFFSETS_TOPIC = "__consumer_offsets"


def generations_of(ask, group):
    """The generations of a classic group, or the epochs of one of KIP-848: one for each rebalance.

    A group is written down anew in its generation when a static member gets another id.
    """
    found = [0]
    for record in whole_records_of(ask, OFFSETS_TOPIC, 0):
        key = decode_offsets_key(record.key)
        if not isinstance(key, GroupMetadataKey | ConsumerGroupMetadataKey):
            continue
        value = decode_offsets_value(key, record.value)
        if value is None or group not in (getattr(key, "group", None), getattr(key, "group_id", None)):
            continue
        number = value.generation if isinstance(key, GroupMetadataKey) else value.epoch
        if number != found[-1]:
            found.append(number)
    return found[1:]


def protocol_of(ask, group):
    """``classic`` or ``consumer``."""
    [found] = [each for each in ask.ask(LIST_GROUPS, 5, ListGroupsRequest()).groups if each.group_id == group]
    return found.group_type
