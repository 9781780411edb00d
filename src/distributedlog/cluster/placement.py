"""On which brokers the partitions of a topic are put [pure]."""

from collections.abc import Sequence
from typing import Final

from distributedlog.cluster.image import PartitionImage
from distributedlog.cluster.refused import Refused
from distributedlog.wire.error_codes import ErrorCode

#: Kafka's bound on what one request may make of the metadata: a count is only a number until it is obeyed.
PARTITIONS_PER_REQUEST_MAX: Final = 10_000


def placed(
    first_index: int, count: int, replication_factor: int, brokers: Sequence[int]
) -> list[PartitionImage]:
    """New partitions, their leaders going round the brokers so that each leads about as many."""
    if replication_factor > len(brokers):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{replication_factor} replicas are wanted, but there are only {len(brokers)} brokers",
        )
    if count > PARTITIONS_PER_REQUEST_MAX:
        raise Refused(
            ErrorCode.POLICY_VIOLATION,
            f"{count} partitions are more than one request may make ({PARTITIONS_PER_REQUEST_MAX})",
        )
    partitions = []
    for index in range(first_index, first_index + count):
        start = index % len(brokers)
        replicas = [brokers[(start + number) % len(brokers)] for number in range(replication_factor)]
        partitions.append(new_partition(index, replicas))
    return partitions


def placed_by_hand(
    first_index: int,
    assignments: Sequence[Sequence[int]],
    replication_factor: int | None,
    brokers: Sequence[int],
) -> list[PartitionImage]:
    """New partitions as the request assigns them; each must have as many replicas as the others."""
    partitions = []
    for number, replicas in enumerate(assignments):
        _check_assignment(replicas, replication_factor, brokers)
        replication_factor = len(replicas)
        partitions.append(new_partition(first_index + number, replicas))
    return partitions


def _check_assignment(
    replicas: Sequence[int], replication_factor: int | None, brokers: Sequence[int]
) -> None:
    if not replicas:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the assignment has an empty list of replicas")
    for broker in replicas:
        if broker not in brokers:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"the assignment names broker {broker}, but no such broker is registered",
            )
    if len(set(replicas)) < len(replicas):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"the assignment {list(replicas)} names a broker twice"
        )
    if replication_factor is not None and len(replicas) != replication_factor:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"the assignment {list(replicas)} has {len(replicas)} replicas, other partitions have "
            f"{replication_factor}",
        )


def new_partition(index: int, replicas: Sequence[int]) -> PartitionImage:
    """A partition in its first epoch, led by its first replica, all replicas in sync."""
    return PartitionImage(index, tuple(replicas), tuple(replicas), replicas[0], 0, 0)
