"""What `poll` hands out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from distributedlog.client.metadata import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributedlog.records.record import Headers


class ConsumerRecord(NamedTuple):
    """A record and where it is. ``timestamp`` counts milliseconds since 1970.

    ``key`` and ``value`` are bytes or None, or whatever the consumer's deserialisers make of bytes.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: Headers = ()

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


make_consumer_record: Callable[[tuple[Any, ...]], ConsumerRecord] = partial(tuple.__new__, ConsumerRecord)
"""ConsumerRecord from its fields as a tuple: for `map` over many, as `records.record.make_record`."""
