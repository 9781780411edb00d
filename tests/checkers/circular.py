"""Circular information flow (G1c): following from each transaction to those that read what it wrote, one
comes back.

Only reads make edges. Which of two writers of a partition was first says nothing in Kafka's model, where the
records of open transactions are interleaved (G0 is normal).
"""

from collections import defaultdict

from tests.checkers.findings import Anomaly, Finding


def check_circular(world):
    readers = defaultdict(dict)  # {writer: {reader: value}}
    for poll in world.polls_in_transactions:
        for records in poll.records.values():
            for _, value in records:
                write = world.writes.get(value)
                if write is not None and write.transaction is not None:
                    writer = write.transaction.name
                    if writer != poll.transaction:
                        readers[writer].setdefault(poll.transaction, value)
    for component in components(readers):
        if len(component) > 1:
            cycle = _cycle_in(component, readers)
            steps = [
                f"{reader} read {readers[writer][reader]} of {writer}"
                for writer, reader in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
            ]
            times = tuple(world.transactions[name].begun for name in cycle if name in world.transactions)
            yield Finding(Anomaly.CIRCULAR_FLOW, "; ".join(steps), times)


def components(graph):
    """The strongly connected components (Tarjan), without recursion: histories are long."""
    index, low, on_stack, stack = {}, {}, set(), []
    for root in list(graph):
        if root in index:
            continue
        work = [(root, iter(graph.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, following = work[-1]
            for successor in following:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(graph.get(successor, ()))))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    yield component


def _cycle_in(component, graph):
    """A shortest way from one of its members back to itself."""
    members = set(component)
    start = min(component)
    came_from, frontier = {}, [start]
    while frontier:
        following = []
        for node in frontier:
            for successor in graph.get(node, ()):
                if successor == start:
                    way = [node]
                    while way[-1] != start:
                        way.append(came_from[way[-1]])
                    return way[::-1]
                if successor in members and successor not in came_from:
                    came_from[successor] = node
                    following.append(successor)
        frontier = following
    raise AssertionError("a component of more than one member has a cycle")
