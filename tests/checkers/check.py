"""`check`: what is wrong with a history.

    findings = check(load("bank-1.jsonl", "reader.jsonl"))

``python -m tests.checkers.check FILE…`` prints them for files, and exits with 1 where there are any.
"""

import sys
from collections import Counter

from tests.checkers.circular import check_circular
from tests.checkers.group_offsets import check_group_offsets
from tests.checkers.jsonlines import load
from tests.checkers.order import check_order
from tests.checkers.torn import check_torn
from tests.checkers.values import check_values
from tests.checkers.world import World


def check(history, *, is_read_to_the_end=True):
    """All findings. `is_read_to_the_end` says that after all the writing somebody read everything
    committed: what nobody has seen then is missing. Without it only what was read past can be.
    """
    world = World(history)
    return [
        *check_values(world, is_read_to_the_end=is_read_to_the_end),
        *check_order(world),
        *check_torn(world, is_read_to_the_end=is_read_to_the_end),
        *check_circular(world),
        *check_group_offsets(world, is_read_to_the_end=is_read_to_the_end),
    ]


def report(findings, each_max=5):
    """The findings for people: how many of each, and the first of them."""
    counts = Counter(finding.anomaly for finding in findings)
    lines = []
    for anomaly, count in counts.most_common():
        lines.append(f"{anomaly.name} ({count}): {anomaly.value}")
        texts = [finding.text for finding in findings if finding.anomaly is anomaly]
        lines += [f"    {text}" for text in texts[:each_max]]
    return "\n".join(lines)


def main(paths):
    findings = check(load(*paths))
    print(report(findings) or "nothing is wrong with this history")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
