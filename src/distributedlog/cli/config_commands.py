"""`dlog config describe | set | delete`."""

import argparse
from typing import Final

from distributedlog.cli.cluster_work import CommandFailed, UsageError, run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.parser import did_you_mean
from distributedlog.cli.terminal import note, print_table, shown
from distributedlog.cli.topic_lookup import find_topic
from distributedlog.client import ClusterClient
from distributedlog.client.configs import (
    ConfigChange,
    ConfigOperation,
    ConfigSource,
    ResourceType,
    alter_config,
    describe_config,
)
from distributedlog.wire.k32_describe_configs import DescribeConfigsResourceResult

ALL_BROKERS: Final = "default"
KINDS: Final = {
    "topic": ResourceType.TOPIC,
    "broker": ResourceType.BROKER,
    "group": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
}
SOURCES: Final[dict[int, str]] = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker, dynamic",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers, dynamic",
    ConfigSource.STATIC_BROKER_CONFIG: "broker, static",
    ConfigSource.DEFAULT_CONFIG: "default",
    ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG: "logger",
    ConfigSource.CLIENT_METRICS_CONFIG: "client metrics",
    ConfigSource.GROUP_CONFIG: "group",
}


def describe(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        kind, name = await found_resource(client, arguments)
        entries = await describe_config(client, kind, name, keys=arguments.keys or None)
        known = {entry.name for entry in entries}
        unknown = [key for key in arguments.keys if key not in known]
        if unknown:
            every = [entry.name for entry in await describe_config(client, kind, name)]
            what = f"{arguments.kind} {arguments.name} has no entry {unknown[0]!r}"
            raise CommandFailed(what + did_you_mean(unknown[0], every))
        if not arguments.all and not arguments.keys:
            entries = [entry for entry in entries if entry.config_source != ConfigSource.DEFAULT_CONFIG]
        if arguments.json:
            for entry in entries:
                print_json(
                    name=entry.name,
                    value=entry.value,
                    source=source_of(entry),
                    read_only=entry.read_only,
                    sensitive=entry.is_sensitive,
                )
        elif entries:
            print_table(
                ("name", "value", "source"),
                [(entry.name, shown_value(entry), source_of(entry)) for entry in entries],
            )
        else:
            note(f"Nothing is set on {arguments.kind} {arguments.name}; --all shows the defaults.")
        return 0

    return run_work(arguments, work)


def set_entries(arguments: argparse.Namespace) -> int:
    operation = ConfigOperation.SET
    if arguments.append:
        operation = ConfigOperation.APPEND
    elif arguments.subtract:
        operation = ConfigOperation.SUBTRACT
    return change(arguments, [ConfigChange(name, operation, value) for name, value in arguments.changes])


def delete_entries(arguments: argparse.Namespace) -> int:
    return change(arguments, [ConfigChange(name, ConfigOperation.DELETE) for name in arguments.keys])


def change(arguments: argparse.Namespace, changes: list[ConfigChange]) -> int:
    async def work(client: ClusterClient) -> int:
        kind, name = await found_resource(client, arguments)
        await alter_config(client, kind, name, changes, validate_only=arguments.dry_run)
        done = "could be changed" if arguments.dry_run else "changed"
        if arguments.json:
            print_json(kind=arguments.kind, name=arguments.name, result=done)
        else:
            print(f"The configuration of {arguments.kind} {shown(arguments.name)} {done}.")
        return 0

    return run_work(arguments, work)


async def found_resource(client: ClusterClient, arguments: argparse.Namespace) -> tuple[ResourceType, str]:
    """Its kind and name. A topic that is not there Kafka describes without a word, a broker it waits for."""
    kind, name = resource(arguments)
    if kind is ResourceType.TOPIC:
        await find_topic(client, name)
    elif kind is ResourceType.BROKER and name and int(name) not in client.metadata.brokers:
        raise CommandFailed(f"there is no broker {name}; `dlog cluster info` shows those that there are")
    return kind, name


def resource(arguments: argparse.Namespace) -> tuple[ResourceType, str]:
    kind = KINDS[arguments.kind]
    if kind is not ResourceType.BROKER:
        return kind, arguments.name
    if arguments.name == ALL_BROKERS:
        return kind, ""
    if not (arguments.name.isascii() and arguments.name.isdigit()):
        raise UsageError(f"{arguments.name!r} is no broker's id; `dlog cluster info` shows them")
    return kind, arguments.name


def shown_value(entry: DescribeConfigsResourceResult) -> str:
    return "(hidden)" if entry.is_sensitive else "" if entry.value is None else entry.value


def source_of(entry: DescribeConfigsResourceResult) -> str:
    return SOURCES.get(entry.config_source, "unknown")
