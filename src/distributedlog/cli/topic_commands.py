"""`dlog topic create | list | alter | delete | add-partitions`."""

import argparse
from fnmatch import fnmatchcase

from distributedlog.cli.cluster_work import UsageError, each, run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.terminal import counted, note, print_table, shown, shown_id
from distributedlog.cli.topic_lookup import find_topic, no_such_topic
from distributedlog.client import BrokerError, ClusterClient, TopicMetadata
from distributedlog.client.configs import ConfigChange, ConfigOperation, ResourceType, alter_config
from distributedlog.client.topics import BROKERS_DEFAULT, create_partitions, create_topic, delete_topic
from distributedlog.wire import ErrorCode


def create(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        async def one(name: str) -> None:
            try:
                result = await create_topic(
                    client,
                    name,
                    partitions=arguments.partitions or BROKERS_DEFAULT,
                    replication_factor=arguments.replication_factor or BROKERS_DEFAULT,
                    configs=dict(arguments.config),
                    validate_only=arguments.dry_run,
                )
            except BrokerError as error:
                if error.code != ErrorCode.TOPIC_ALREADY_EXISTS or not arguments.if_not_exists:
                    raise
                report(arguments, name, "exists", f"Topic {name} is there already.")
                return
            details = {
                "topic_id": shown_id(result.topic_id),
                "partitions": result.num_partitions,
                "replication_factor": result.replication_factor,
            }
            done = "would be created" if arguments.dry_run else "created"
            counts = ""
            if result.num_partitions > 0:
                counts = f", {counted(result.num_partitions, 'partition')}"
            report(arguments, name, done, f"Topic {name} {done}{counts}.", **details)

        return await each(arguments.names, one)

    return run_work(arguments, work)


def list_all(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        topics = [
            topic
            for topic in await client.all_topics()
            if (arguments.internal or not topic.is_internal)
            and (arguments.pattern is None or fnmatchcase(topic.name, arguments.pattern))
        ]
        if arguments.json:
            for topic in topics:
                print_json(
                    topic=topic.name,
                    topic_id=shown_id(topic.topic_id),
                    partitions=len(topic.partitions),
                    replication_factor=replication_factor(topic),
                    internal=topic.is_internal,
                )
        elif topics:
            print_table(
                ("topic", "partitions>", "replicas>", "id"),
                [
                    (topic.name, len(topic.partitions), replication_factor(topic), shown_id(topic.topic_id))
                    for topic in topics
                ],
            )
        else:
            note(nothing_listed(arguments))
        return 0

    return run_work(arguments, work)


def nothing_listed(arguments: argparse.Namespace) -> str:
    if arguments.pattern is not None:
        return f"No topic has a name like {arguments.pattern!r}."
    return "There are no topics yet; `dlog topic create NAME` makes one."


def alter(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        changes = [ConfigChange(name, ConfigOperation.SET, value) for name, value in arguments.set]
        changes += [ConfigChange(name, ConfigOperation.DELETE) for name in arguments.unset]
        if not changes:
            raise UsageError("nothing to change: name it with --set NAME=VALUE or --unset NAME")

        async def one(name: str) -> None:
            await alter_config(client, ResourceType.TOPIC, name, changes)
            report(arguments, name, "altered", f"Topic {name} altered.")

        return await each(arguments.names, one)

    return run_work(arguments, work)


def delete(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        async def one(name: str) -> None:
            try:
                await delete_topic(client, name)
            except BrokerError as error:
                if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
                if not arguments.if_exists:
                    raise no_such_topic(name, [topic.name for topic in await client.all_topics()]) from None
                report(arguments, name, "absent", f"There is no topic {name}.")
                return
            report(arguments, name, "deleted", f"Topic {name} deleted.")

        return await each(arguments.names, one)

    return run_work(arguments, work)


def add_partitions(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        async def one(name: str) -> None:
            total = arguments.total
            if total is None:
                topic = await find_topic(client, name)
                total = len(topic.partitions) + arguments.more
            await create_partitions(client, name, total)
            text = f"Topic {name} has {counted(total, 'partition')} now."
            report(arguments, name, "altered", text, partitions=total)

        return await each(arguments.names, one)

    return run_work(arguments, work)


def report(arguments: argparse.Namespace, name: str, result: str, text: str, **details: object) -> None:
    """What became of one topic."""
    if arguments.json:
        print_json(topic=name, result=result, **details)
    else:
        print(shown(text))


def replication_factor(topic: TopicMetadata) -> int:
    return len(topic.partitions[0].replicas) if topic.partitions else 0
