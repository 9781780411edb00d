"""Incremental fetch sessions (KIP-227): a consumer of many partitions names only what has changed.

The broker remembers what a client asked for, and what it was told last of each partition. A request with
epoch 0 begins a session, the following ones count upwards, and an answer holds only the partitions that
have something new. Those that had records move to the end of the line, so that none is starved by limits.

Sessions are few (`max.incremental.fetch.session.cache.slots`) and worth keeping by their size and use: a
new one takes the place of one that was not used for two minutes, or that has had its two minutes and is
smaller. Who finds no place is served all the same, without a session.
"""

import random
from collections.abc import Iterable, Sequence
from typing import Final

from distributedlog.broker.fetch_plan import UNKNOWN_OFFSET, FetchTarget, TargetResult
from distributedlog.wire import ZERO_UUID, ErrorCode
from distributedlog.wire.k01_fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EPOCH_MAX: Final = 2**31 - 1
SESSION_ID_MAX: Final = 2**31 - 1
EVICTION_MS: Final = 120_000
#: From this version on topics are named by their ids.
TOPIC_ID_VERSION_MIN: Final = 13

#: A topic's id or name, and the partition's index.
TargetKey = tuple[bytes | str, int]
Targets = dict[TargetKey, FetchTarget]


def next_epoch(epoch: int) -> int:
    """Epochs go from 1 to the largest and on with 1; 0 and -1 have meanings of their own."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == EPOCH_MAX else epoch + 1


class FetchSession:
    """What one client fetches, and what it knows. Its partitions stand in the order of their turns."""

    __slots__ = (
        "created_ms",
        "epoch",
        "is_privileged",
        "last_used_ms",
        "session_id",
        "targets",
        "uses_topic_ids",
    )

    def __init__(
        self, session_id: int, targets: Targets, *, uses_topic_ids: bool, is_privileged: bool, now_ms: int
    ) -> None:
        self.session_id = session_id
        self.targets = targets
        self.uses_topic_ids = uses_topic_ids
        #: Followers: they read for ever, so their sessions are the dearest.
        self.is_privileged = is_privileged
        self.created_ms = self.last_used_ms = now_ms
        self.epoch = next_epoch(INITIAL_EPOCH)

    def update(self, changed: Targets, forgotten: Iterable[TargetKey]) -> None:
        """Take in what a request adds, alters and no longer wants."""
        for key, new in changed.items():
            known = self.targets.get(key)
            if known is None:
                self.targets[key] = new
                continue
            known.fetch_offset = new.fetch_offset
            known.max_bytes = new.max_bytes
            known.current_leader_epoch = new.current_leader_epoch
            known.last_fetched_epoch = new.last_fetched_epoch
            known.log_start_offset = new.log_start_offset
        for key in forgotten:
            self.targets.pop(key, None)

    def worth(self) -> tuple[bool, int, int]:
        """Sessions of less worth give way."""
        return self.is_privileged, len(self.targets), self.session_id


class FetchContext:
    """What a request reads, and how it is answered. This one is of a request without a session."""

    __slots__ = ("targets",)

    def __init__(self, targets: Sequence[FetchTarget]) -> None:
        self.targets = targets

    def respond(self, results: list[TargetResult], now_ms: int) -> FetchResponse:
        """The response to what was found."""
        return _response(NO_SESSION, results)

    def respond_throttled(self, throttle_ms: int) -> FetchResponse:
        """The response of a client who is to wait before it gets anything."""
        return FetchResponse(throttle_ms)


class RefusedContext(FetchContext):
    """Of a request whose session is not what it thinks."""

    __slots__ = ("error",)

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(())
        self.error = error

    def respond(self, results: list[TargetResult], now_ms: int) -> FetchResponse:
        return FetchResponse(0, int(self.error))


class FullContext(FetchContext):
    """Of a request that begins a session: it gets everything, and an id when there is a place."""

    __slots__ = ("_is_privileged", "_keyed_targets", "_sessions", "_uses_topic_ids")

    def __init__(
        self, sessions: "FetchSessions", targets: Targets, *, uses_topic_ids: bool, is_privileged: bool
    ) -> None:
        super().__init__(list(targets.values()))
        self._sessions = sessions
        self._keyed_targets = targets
        self._uses_topic_ids = uses_topic_ids
        self._is_privileged = is_privileged

    def respond(self, results: list[TargetResult], now_ms: int) -> FetchResponse:
        for target, data in results:
            target.sent_high_watermark = data.high_watermark
            target.sent_log_start_offset = data.log_start_offset
        session = self._sessions.create(
            self._keyed_targets,
            uses_topic_ids=self._uses_topic_ids,
            is_privileged=self._is_privileged,
            now_ms=now_ms,
        )
        return _response(NO_SESSION if session is None else session.session_id, results)


class IncrementalContext(FetchContext):
    """Of a request that goes on with a session: it gets what is new."""

    __slots__ = ("_epoch", "_session")

    def __init__(self, session: FetchSession) -> None:
        super().__init__(list(session.targets.values()))
        self._session = session
        self._epoch = session.epoch

    def respond(self, results: list[TargetResult], now_ms: int) -> FetchResponse:
        session = self._session
        if session.epoch != self._epoch:
            return self._overtaken()
        return _response(session.session_id, [result for result in results if self._is_new(*result)])

    def respond_throttled(self, throttle_ms: int) -> FetchResponse:
        if self._session.epoch != self._epoch:
            return self._overtaken()
        return FetchResponse(throttle_ms, 0, self._session.session_id)

    def _overtaken(self) -> FetchResponse:
        """Another request of the session has come while this one waited."""
        return FetchResponse(0, int(ErrorCode.INVALID_FETCH_SESSION_EPOCH), self._session.session_id)

    def _is_new(self, target: FetchTarget, data: PartitionData) -> bool:
        """Whether the client has to be told; it then counts as told."""
        is_new = False
        if data.records:
            is_new = True
            key = key_of(target)
            targets = self._session.targets
            if targets.get(key) is target:
                del targets[key]
                targets[key] = target
        if data.high_watermark != target.sent_high_watermark:
            is_new = True
            target.sent_high_watermark = data.high_watermark
        if data.log_start_offset != target.sent_log_start_offset:
            is_new = True
            target.sent_log_start_offset = data.log_start_offset
        if data.error_code:
            # Once it is well again, that is news.
            target.sent_high_watermark = UNKNOWN_OFFSET
            is_new = True
        return is_new or data.diverging_epoch.epoch >= 0


class FetchSessions:
    """All sessions of a broker, the one that was used longest ago first."""

    def __init__(self, slots_max: int, chance: random.Random) -> None:
        self._slots_max = slots_max
        self._chance = chance
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def begin(
        self, request: FetchRequest, version: int, now_ms: int, *, is_follower: bool = False
    ) -> FetchContext:
        """Find out what a request is about, and bring its session up to date."""
        uses_topic_ids = version >= TOPIC_ID_VERSION_MIN
        targets = targets_of(request.topics, uses_topic_ids)
        epoch = request.session_epoch
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(request.session_id, None)
            if epoch == FINAL_EPOCH:
                return FetchContext(list(targets.values()))
            return FullContext(self, targets, uses_topic_ids=uses_topic_ids, is_privileged=is_follower)
        session = self._sessions.get(request.session_id)
        if session is None:
            return RefusedContext(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return RefusedContext(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            return RefusedContext(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(targets, _forgotten_keys(request.forgotten_topics_data, uses_topic_ids))
        if not session.targets:
            del self._sessions[session.session_id]
            return FetchContext(())
        session.last_used_ms = now_ms
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)
        session.epoch = next_epoch(session.epoch)
        return IncrementalContext(session)

    def create(
        self, targets: Targets, *, uses_topic_ids: bool, is_privileged: bool, now_ms: int
    ) -> FetchSession | None:
        """A new session, if there is a place or one can be made."""
        if not targets:
            return None
        if len(self._sessions) >= self._slots_max and not self._evict(is_privileged, len(targets), now_ms):
            return None
        session_id = self._new_id()
        session = FetchSession(
            session_id, targets, uses_topic_ids=uses_topic_ids, is_privileged=is_privileged, now_ms=now_ms
        )
        self._sessions[session_id] = session
        return session

    def _new_id(self) -> int:
        while True:
            session_id = self._chance.randint(1, SESSION_ID_MAX)
            if session_id not in self._sessions:
                return session_id

    def _evict(self, for_privileged: bool, size: int, now_ms: int) -> bool:
        """Make a place for a session of this worth; whether that was possible."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.last_used_ms > EVICTION_MS:
            del self._sessions[oldest.session_id]
            return True
        candidates = [
            session
            for session in self._sessions.values()
            if now_ms - session.created_ms > EVICTION_MS or (for_privileged and not session.is_privileged)
        ]
        least = min(candidates, key=FetchSession.worth, default=None)
        if least is None or (for_privileged, size, 0) < least.worth():
            return False
        del self._sessions[least.session_id]
        return True


def key_of(target: FetchTarget) -> TargetKey:
    return (target.topic if target.topic_id is None else target.topic_id, target.index)


def targets_of(topics: list[FetchTopic], uses_topic_ids: bool) -> Targets:
    """A request's partitions. Named twice, the last counts."""
    targets: Targets = {}
    for topic in topics:
        name: bytes | str = bytes(topic.topic_id) if uses_topic_ids else topic.topic
        topic_id = name if isinstance(name, bytes) else None
        for wanted in topic.partitions:
            targets[name, wanted.partition] = FetchTarget(
                topic.topic,
                topic_id,
                wanted.partition,
                wanted.fetch_offset,
                wanted.partition_max_bytes,
                wanted.current_leader_epoch,
                wanted.last_fetched_epoch,
                wanted.log_start_offset,
            )
    return targets


def _forgotten_keys(topics: list[ForgottenTopic], uses_topic_ids: bool) -> list[TargetKey]:
    return [
        (bytes(topic.topic_id) if uses_topic_ids else topic.topic, index)
        for topic in topics
        for index in topic.partitions
    ]


def _response(session_id: int, results: list[TargetResult]) -> FetchResponse:
    """Neighbours of one topic share its entry; the order of the partitions stays."""
    responses: list[FetchableTopicResponse] = []
    last: FetchTarget | None = None
    for target, data in results:
        if last is not None and last.topic == target.topic and last.topic_id == target.topic_id:
            responses[-1].partitions.append(data)
        else:
            responses.append(FetchableTopicResponse(target.topic, target.topic_id or ZERO_UUID, [data]))
            last = target
    return FetchResponse(0, 0, session_id, responses)
