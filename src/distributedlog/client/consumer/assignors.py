"""[pure] Who of a classic group reads what: the leader's decision, by Kafka's names for the ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from distributedlog.client.consumer.round_robin_assignor import assign_round_robin
from distributedlog.client.consumer.sticky_assignor import assign_sticky, without_moves
from distributedlog.client.range_assignor import assign_ranges

if TYPE_CHECKING:
    from distributedlog.client.consumer.subscriber import Subscriber
    from distributedlog.client.metadata import TopicPartition

Assignments = dict[str, "list[TopicPartition]"]


class Assignor(NamedTuple):
    """`is_cooperative` members keep reading while others join; they give up only what goes to others."""

    assign: Callable[[Sequence[Subscriber], Mapping[str, int]], Assignments]
    is_cooperative: bool = False


def _assign_cooperatively(
    subscribers: Sequence[Subscriber], partition_counts: Mapping[str, int]
) -> Assignments:
    return without_moves(subscribers, assign_sticky(subscribers, partition_counts))


ASSIGNORS: Final = {
    "range": Assignor(assign_ranges),
    "roundrobin": Assignor(assign_round_robin),
    "sticky": Assignor(assign_sticky),
    "cooperative-sticky": Assignor(_assign_cooperatively, is_cooperative=True),
}
