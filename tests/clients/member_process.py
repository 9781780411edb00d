"""A member of a group as a process: its arguments: library's module, broker, membership as JSON."""

import importlib
import json
import sys

from tests.clients.face import Membership


def main(module, bootstrap, membership):
    settings = json.loads(membership)
    member = importlib.import_module(module).Member(bootstrap, Membership(**settings))
    told = None
    while True:
        member.turn()
        if member.partitions != told:
            told = member.partitions
            print(json.dumps(sorted(told)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
