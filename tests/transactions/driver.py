"""A driver without io: a clock that is turned by hand, a log in a list, and a heap of wake-ups.

It keeps the contract of `distributedlog.coordination.outcome` and `distributedlog.transactions.outcome`, and
checks on the way that every response can be encoded in the version it was asked for, and that records mean
the same as bytes and as objects. The disk, the writing of markers and the giving of producer ids are done at
once, or wait until a test says so (`holds_disk`, `holds_markers`, `holds_ids`).
"""

import heapq
from collections import deque
from dataclasses import replace
from itertools import count
from typing import Any

from distributedlog.transactions import (
    Context,
    IdWanted,
    MarkerPlan,
    Outcome,
    Timer,
    TransactionConfig,
    TransactionCoordinator,
    TransactionCounts,
)
from distributedlog.transactions.records import encoded_record
from distributedlog.wire import api_of, encode_response
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.values import decode_transaction_key

COORDINATOR_EPOCH = 3


def api_key_of(request: Any) -> int:
    """The number of the API, which is in its module's name."""
    return int(type(request).__module__.rpartition(".k")[2][:2])


class Driver:
    """One coordinator and its surroundings."""

    def __init__(self, config: TransactionConfig | None = None) -> None:
        self.config = config or TransactionConfig()
        self.now_ms = 1_000_000
        self.log: list[tuple[bytes, bytes | None]] = []
        #: The records before this offset are on the disk.
        self.durable = 0
        self.counts = TransactionCounts()
        self.replies: dict[Any, Any] = {}
        self.reply_order: list[Any] = []
        self.append_errors: list[ErrorCode] = []
        self.holds_disk = self.holds_markers = self.holds_ids = False
        #: Plans whose markers are not written, and those who want a producer id.
        self.plans: list[MarkerPlan] = []
        self.wanting: list[IdWanted] = []
        #: (partition, producer id, epoch, is commit, coordinator epoch) of each marker written.
        self.markers: list[tuple[Any, int, int, bool, int]] = []
        self.next_producer_id = 1_000
        self._held: deque[tuple[int, list[Outcome]]] = deque()
        self._tokens = count(1)
        self._tie = count()
        self._wakeups: list[tuple[int, int, Timer]] = []
        self._asked: dict[Any, tuple[int, int]] = {}
        self.coordinator = self._new_coordinator()
        self.act(self.coordinator.loaded(self.now_ms))

    def _new_coordinator(self) -> TransactionCoordinator:
        return TransactionCoordinator(self.config, COORDINATOR_EPOCH, self.counts)

    # requests

    def send(self, request: Any, version: int) -> int:
        """Hand in a request; the token under which its reply will be."""
        token = next(self._tokens)
        key = api_key_of(request)
        self._asked[token] = (key, version)
        codec = api_of(key, version).request(version)
        received = codec.decode(codec.encode(request))[0]
        self.act(self.coordinator.handle(Context(token, version, self.now_ms), received))
        return token

    def ask(self, request: Any, version: int) -> Any:
        """Hand in a request that is answered at once."""
        return self.replies[self.send(request, version)]

    def reply(self, token: int) -> Any:
        """The reply, or None while it is waited for."""
        return self.replies.get(token)

    def unanswered(self) -> list[Any]:
        """The tokens of requests that still wait."""
        return [token for token in self._asked if token not in self.replies]

    # time

    def advance(self, ms: int) -> None:
        """Turn the clock, with every wake-up in its time."""
        end_ms = self.now_ms + ms
        while self._wakeups and self._wakeups[0][0] <= end_ms:
            at_ms, _, timer = heapq.heappop(self._wakeups)
            self.now_ms = max(self.now_ms, at_ms)
            self.act(self.coordinator.on_timer(timer, self.now_ms))
        self.now_ms = end_ms

    # surroundings

    def flush(self) -> None:
        """The disk has all that was appended."""
        self.durable = len(self.log)
        held, self._held = self._held, deque()
        for _, outcomes in held:
            for outcome in outcomes:
                self._finish(outcome)

    def write_markers(self, plan: MarkerPlan, errors: Any = None, gone: Any = ()) -> None:
        """Write what a plan wants, except where there is an error."""
        if plan in self.plans:
            self.plans.remove(plan)
        errors = errors or {}
        results = {each: errors.get(each, ErrorCode.NONE) for each in plan.partitions if each not in gone}
        for each in sorted(results):
            if results[each] is ErrorCode.NONE:
                self.mark(plan, each)
        self.act(self.coordinator.markers_written(plan, results, self.now_ms, gone))

    def mark(self, plan: MarkerPlan, partition: Any) -> None:
        """A marker is in the partition."""
        entry = partition, plan.producer_id, plan.producer_epoch, plan.is_commit, plan.coordinator_epoch
        self.markers.append(entry)

    def give_id(self, wanted: IdWanted, error: ErrorCode | None = None) -> None:
        """A producer id is there for who wants one, or why there is none."""
        if wanted in self.wanting:
            self.wanting.remove(wanted)
        if error is not None:
            self.act(self.coordinator.id_refused(wanted, error))
            return
        producer_id, self.next_producer_id = self.next_producer_id, self.next_producer_id + 1
        self.act(self.coordinator.id_given(wanted, producer_id, self.now_ms))

    def restart(self, kept: int | None = None) -> None:
        """Lose everything but the log; of that, what was not on the disk, but for ``kept`` records."""
        for reply in self.coordinator.unloaded().replies:
            self._deliver(reply.token, reply.response)
        self.crash(kept)

    def crash(self, kept: int | None = None) -> None:
        """The same without a word to anybody."""
        keep = max(self.durable, len(self.log) if kept is None else kept)
        del self.log[keep:]
        self.durable = len(self.log)
        self._held.clear()
        self._wakeups.clear()
        self.plans.clear()
        self.wanting.clear()
        self.coordinator = self.replayed()
        self.act(self.coordinator.loaded(self.now_ms))

    def replayed(self, compacted_to: int = 0, *, keep_tombstones: bool = True) -> TransactionCoordinator:
        """A coordinator that knows the log and nothing else; its head may have been compacted."""
        fresh = self._new_coordinator()
        last = {key: offset for offset, (key, _) in enumerate(self.log[:compacted_to])}
        for offset, (key, value) in enumerate(self.log):
            if offset < compacted_to and (last[key] != offset or (value is None and not keep_tombstones)):
                continue
            fresh.replay(key, value)
        return fresh

    def assert_replayable(self, *, compacted: bool = True) -> None:
        """The log tells all of the hard state, also when the cleaner has been there."""
        live = self.coordinator.state
        transactions = live.transactions
        if self.config.transaction_version == 0:
            # Records of version 0 have no room for it.
            transactions = {
                name: replace(each, previous_producer_id=-1) for name, each in transactions.items()
            }
        end = len(self.log)
        for compacted_to, keep_tombstones in [(0, True), (end, True), (end, False)][: 3 if compacted else 1]:
            fresh = self.replayed(compacted_to, keep_tombstones=keep_tombstones).state
            assert fresh.transactions == transactions
            assert fresh.ongoing == live.ongoing
            assert fresh.prepared == live.prepared

    def live_ids(self) -> list[str]:
        """The ids that a compacted log would hold for ever."""
        last = dict(self.log)
        return [
            decode_transaction_key(key).transactional_id for key, value in last.items() if value is not None
        ]

    def put(self, transactional_id: str = "t", **fields: Any) -> None:
        """Change an id's state behind everybody's back."""
        state = self.coordinator.state
        metadata = replace(state.transactions[transactional_id], **fields)
        self.appended([encoded_record(transactional_id, metadata, 2)])
        self.durable = len(self.log)
        state.put(transactional_id, metadata)

    @property
    def transactions(self) -> dict[str, Any]:
        return self.coordinator.state.transactions

    # outcomes

    def act(self, outcome: Outcome) -> None:
        """What `broker/transaction_shard.py` does."""
        for timer in outcome.timers:
            heapq.heappush(self._wakeups, (timer.at_ms, next(self._tie), timer))
        records = outcome.records
        if records:
            if self.append_errors:
                error = self.append_errors.pop(0)
                self.act(self.coordinator.append_failed(outcome, error, self.now_ms))
                return
            base_offset = len(self.log)
            self.appended(records)
            self.coordinator.applied(outcome, base_offset)
        for reply in outcome.prompt_replies:
            self._deliver(reply.token, reply.response)
        if len(self.log) > self.durable:
            if records:
                self._held.append((len(self.log), [outcome]))
            else:
                self._held[-1][1].append(outcome)
            if not self.holds_disk:
                self.flush()
        else:
            self._finish(outcome)

    def appended(self, records: list[tuple[bytes, bytes | None]]) -> None:
        """Records are in the log."""
        self.log.extend(records)

    def _finish(self, outcome: Outcome) -> None:
        for reply in outcome.replies:
            self._deliver(reply.token, reply.response)
        self.plans += outcome.markers
        self.wanting += outcome.ids_wanted
        if not self.holds_markers:
            for plan in outcome.markers:
                self.write_markers(plan)
        if not self.holds_ids:
            for wanted in outcome.ids_wanted:
                self.give_id(wanted)

    def _deliver(self, token: Any, response: Any) -> None:
        assert token not in self.replies, f"request {token} is answered twice"
        encode_response(*self._asked[token], 1, response)
        self.replies[token] = response
        self.reply_order.append(token)
