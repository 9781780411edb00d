"""Finding the topics that a command line names, and saying what is near when one is not there."""

from collections.abc import Iterable

from distributedlog.cli.cluster_work import CommandFailed
from distributedlog.cli.parser import did_you_mean
from distributedlog.client import BrokerError, ClusterClient, TopicMetadata
from distributedlog.wire import ErrorCode


async def find_topics(client: ClusterClient, names: Iterable[str]) -> list[TopicMetadata]:
    """These topics, in this order; one that is not there is CommandFailed."""
    wanted = list(names)
    try:
        return await client.topics(wanted)
    except BrokerError as error:
        if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
    known = {topic.name for topic in await client.all_topics()}
    absent = [name for name in wanted if name not in known]
    raise no_such_topic(absent[0] if absent else wanted[0], known)


async def find_topic(client: ClusterClient, name: str) -> TopicMetadata:
    (topic,) = await find_topics(client, [name])
    return topic


def no_such_topic(name: str, known: Iterable[str]) -> CommandFailed:
    hint = did_you_mean(name, known) or "; `dlog topic list` shows those that there are"
    return CommandFailed(f"there is no topic {name!r}{hint}")
