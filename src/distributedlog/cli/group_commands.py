"""`dlog group list | delete`."""

import argparse
from fnmatch import fnmatchcase

from distributedlog.cli.cluster_work import each, run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.terminal import note, print_table, shown
from distributedlog.client import ClusterClient
from distributedlog.client.groups import delete_group, list_groups


def list_all(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        groups = [
            group
            for group in await list_groups(client, states=arguments.state, types=arguments.type)
            if arguments.pattern is None or fnmatchcase(group.group_id, arguments.pattern)
        ]
        if arguments.json:
            for group in groups:
                print_json(
                    group=group.group_id,
                    type=group.group_type,
                    state=group.group_state,
                    protocol_type=group.protocol_type,
                )
        elif groups:
            print_table(
                ("group", "type", "state", "protocol"),
                [
                    (group.group_id, group.group_type, group.group_state, group.protocol_type)
                    for group in groups
                ],
            )
        else:
            note(f"There are no groups{' like that' if is_filtered(arguments) else ''}.")
        return 0

    return run_work(arguments, work)


def is_filtered(arguments: argparse.Namespace) -> bool:
    return arguments.pattern is not None or bool(arguments.state or arguments.type)


def delete(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        async def one(name: str) -> None:
            await delete_group(client, name)
            if arguments.json:
                print_json(group=name, result="deleted")
            else:
                print(f"Group {shown(name)} deleted.")

        return await each(arguments.names, one)

    return run_work(arguments, work)
