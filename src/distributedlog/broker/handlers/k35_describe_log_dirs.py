"""DescribeLogDirs: which partitions lie in the data directory, how large they are, how much room is left."""

import os
from typing import TYPE_CHECKING

from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k35_describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(
    broker: "Broker", context: "RequestContext", request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    path = str(broker.directory.path.absolute())
    if broker.metadata_log.log.writer.offline is not None:
        return DescribeLogDirsResponse(
            results=[DescribeLogDirsResult(int(ErrorCode.KAFKA_STORAGE_ERROR), path)]
        )
    wanted = (
        None if request.topics is None else {topic.topic: set(topic.partitions) for topic in request.topics}
    )
    topics: dict[str, DescribeLogDirsTopic] = {}
    for partition in broker.partitions:
        if wanted is None or partition.index in wanted.get(partition.topic, ()):
            described = topics.setdefault(partition.topic, DescribeLogDirsTopic(partition.topic))
            described.partitions.append(DescribeLogDirsPartition(partition.index, partition.log.size))
    total_bytes, usable_bytes = _volume(path)
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                0, path, list(topics.values()), total_bytes=total_bytes, usable_bytes=usable_bytes
            )
        ]
    )


def _volume(path: str) -> tuple[int, int]:
    """Size of the volume and what is left of it; -1 where that cannot be told."""
    try:
        volume = os.statvfs(path)
    except OSError:
        return -1, -1
    return volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize
