"""A driver without io: a clock that is turned by hand, a log in a list, and a heap of wake-ups.

It keeps the contract of `distributedlog.groups.outcome`, and checks on the way that every response can be
encoded in the version it was asked for, and that records mean the same as bytes and as objects.
"""

import heapq
from itertools import count
from typing import Any

from distributedlog.groups import Context, GroupConfig, GroupCoordinator, Outcome, Timer, Topic, TopicsImage
from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.wire import api_of, encode_response
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.values import decode_offsets_key


def api_key_of(request: Any) -> int:
    """The number of the API, which is in its module's name."""
    return int(type(request).__module__.rpartition(".k")[2][:2])


def topic(name: str, partitions: int, generation: int = 1) -> Topic:
    """A topic whose id can be told from its name."""
    return Topic(name, (name.encode() * 16)[:15] + bytes([generation]), partitions)


def image(version: int = 1, **partitions: int) -> TopicsImage:
    """Topics by their names and sizes."""
    return TopicsImage([topic(name, size) for name, size in partitions.items()], version)


def hard_state(coordinator: GroupCoordinator) -> dict[str, Any]:
    """All that must be the same after a replay."""
    groups: dict[str, Any] = {}
    for group_id, group in coordinator.state.groups.items():
        if isinstance(group, ClassicGroup):
            groups[group_id] = ("classic", group.committed)
        else:
            groups[group_id] = (
                "consumer",
                group.epoch,
                group.metadata_hash,
                group.assignment_epoch,
                group.assignment_timestamp_ms,
                group.members,
                group.static_members,
                group.target,
                group.resolved_regexes,
                group.partition_epochs,
                dict(group.regex_counts),
                group.has_partition_metadata_record,
            )
    offsets = coordinator.state.offsets
    return {
        "groups": groups,
        "offsets": offsets.committed,
        "pending": offsets.pending,
        "transactions": offsets.transactions_of_group,
    }


class Driver:
    """One coordinator and its surroundings."""

    def __init__(self, config: GroupConfig | None = None, topics: TopicsImage | None = None) -> None:
        self.config = config or GroupConfig()
        self.topics = topics or TopicsImage()
        self.now_ms = 1_000_000
        self.log: list[tuple[bytes, bytes | None, int] | tuple[int, bool]] = []
        self.replies: dict[Any, Any] = {}
        self.reply_order: list[Any] = []
        self.outcomes: list[Outcome] = []
        self.append_errors: list[ErrorCode] = []
        self._ids = count(1)
        self._tokens = count(1)
        self._tie = count()
        self._wakeups: list[tuple[int, int, Timer]] = []
        self._asked: dict[Any, tuple[int, int]] = {}
        self.coordinator = self._new_coordinator()
        self._act(self.coordinator.loaded(self.now_ms))

    def _new_coordinator(self) -> GroupCoordinator:
        coordinator = GroupCoordinator(self.config, lambda: str(next(self._ids)))
        coordinator.topics_changed(self.topics)
        return coordinator

    # requests

    def send(self, request: Any, version: int, client: str = "client") -> int:
        """Hand in a request; the token under which its reply will be."""
        token = next(self._tokens)
        key = api_key_of(request)
        self._asked[token] = (key, version)
        codec = api_of(key, version).request(version)
        received = codec.decode(codec.encode(request))[0]
        context = Context(token, version, self.now_ms, client, "/127.0.0.1")
        self._act(self.coordinator.handle(context, received))
        return token

    def ask(self, request: Any, version: int, client: str = "client") -> Any:
        """Hand in a request that is answered at once."""
        return self.replies[self.send(request, version, client)]

    def reply(self, token: int) -> Any:
        """The reply, or None while it is waited for."""
        return self.replies.get(token)

    # time

    def advance(self, ms: int) -> None:
        """Turn the clock, with every wake-up in its time."""
        end_ms = self.now_ms + ms
        while self._wakeups and self._wakeups[0][0] <= end_ms:
            at_ms, _, timer = heapq.heappop(self._wakeups)
            self.now_ms = max(self.now_ms, at_ms)
            self._act(self.coordinator.on_timer(timer, self.now_ms))
        self.now_ms = end_ms

    # surroundings

    def change_topics(self, topics: TopicsImage) -> None:
        """The cluster has other topics now."""
        self.topics = topics
        self._act(self.coordinator.topics_changed(topics))

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Write a marker."""
        self.log.append((producer_id, committed))
        self.coordinator.replay_end_transaction(producer_id, committed)

    def restart(self) -> None:
        """Lose everything but the log."""
        for reply in self.coordinator.unloaded().replies:
            self._deliver(reply.token, reply.response)
        self._wakeups.clear()
        self.coordinator = self.replayed()
        self._act(self.coordinator.loaded(self.now_ms))

    def replayed(self, compacted_to: int = 0, *, keep_tombstones: bool = True) -> GroupCoordinator:
        """A coordinator that knows the log and nothing else; its head may have been compacted."""
        fresh = self._new_coordinator()
        last = {entry[0]: offset for offset, entry in enumerate(self.log[:compacted_to])}
        for offset, entry in enumerate(self.log):
            if offset < compacted_to and (
                last[entry[0]] != offset or (entry[1] is None and not keep_tombstones)
            ):
                continue
            if len(entry) == 2:
                fresh.replay_end_transaction(*entry)
            else:
                key, value, producer_id = entry
                fresh.replay(key, value, offset, producer_id)
        return fresh

    def live_keys(self) -> list[Any]:
        """The keys that a compacted log would hold for ever."""
        last = {entry[0]: entry[1] for entry in self.log if len(entry) == 3}
        return [decode_offsets_key(key) for key, value in last.items() if value is not None]

    def assert_compactable(self, compacted_to: int) -> None:
        """The log tells the same when the cleaner has been there. Not for logs with transactions."""
        for keep_tombstones in (True, False):
            compacted = self.replayed(compacted_to, keep_tombstones=keep_tombstones)
            assert hard_state(compacted) == hard_state(self.coordinator)

    def assert_replayable(self) -> None:
        """The log tells all of the hard state."""
        assert hard_state(self.replayed()) == hard_state(self.coordinator)

    def unanswered(self) -> list[Any]:
        """The tokens of requests that still wait."""
        return [token for token in self._asked if token not in self.replies]

    @property
    def groups(self) -> dict[str, Any]:
        return self.coordinator.state.groups

    def _act(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        for timer in outcome.timers:
            heapq.heappush(self._wakeups, (timer.at_ms, next(self._tie), timer))
        records = outcome.records
        if records:
            if self.append_errors:
                error = self.append_errors.pop(0)
                self._act(self.coordinator.append_failed(outcome, error, self.now_ms))
                return
            producer_id = -1 if outcome.transaction is None else outcome.transaction.producer_id
            base_offset = len(self.log)
            self.log.extend((key, value, producer_id) for key, value in records)
            self.coordinator.applied(outcome, base_offset)
        for reply in outcome.replies:
            self._deliver(reply.token, reply.response)

    def _deliver(self, token: Any, response: Any) -> None:
        assert token not in self.replies, f"request {token} is answered twice"
        encode_response(*self._asked[token], 1, response)
        self.replies[token] = response
        self.reply_order.append(token)
