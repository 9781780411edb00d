"""Whether a partition can be served here: its log may not have opened."""

from typing import TYPE_CHECKING

from distributedlog.cluster.image import PartitionImage

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker


def is_offline(broker: "Broker", topic: str, partition: PartitionImage) -> bool:
    """Whether this node leads the partition and has no log for it."""
    return partition.leader == broker.node_id and broker.partitions.get(topic, partition.index) is None
