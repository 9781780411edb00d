"""Clients of both protocols that come, go, crash and lose answers, on a coordinator that restarts and fails.

Everything follows from a seed. The clients behave as real ones do when they can; `Simulation.check` says
what must hold at every moment, `Simulation.settle` what must be reached when nothing more goes wrong.
"""

import random
from typing import Any

from tests.groups.clients import (
    NONE,
    ClassicClient,
    ConsumerClient,
    assigned_partitions,
    assignment,
    fetch,
)
from tests.groups.driver import Driver, image, topic

from distributedlog.groups import GroupConfig
from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k14_sync_group import SyncGroupRequestAssignment

PARTITIONS = 6
STEP_MS = 1_000
#: Errors after which a client tries the same again.
RETRY = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}
FAILURES = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]


class ClassicActor:
    """A classic consumer with the loop that real ones have: join, sync, heartbeat."""

    def __init__(self, driver: Driver, name: str, group: str, instance_id: str | None) -> None:
        self.client = ClassicClient(driver, name, group, instance_id=instance_id, rebalance_ms=15_000)
        self.waiting: int | None = None
        self.phase = "out"
        self.partitions: set[int] = set()

    def step(self) -> None:
        match self.phase:
            case "out":
                self.waiting = self.client.join()
                self.phase = "joining"
            case "joining" | "syncing" if self.client.driver.reply(self.waiting) is None:
                return
            case "joining":
                self._joined(self.client.take(self.waiting))
            case "syncing":
                self._synced(self.client.driver.reply(self.waiting))
            case "reading":
                error = self.client.heartbeat()
                if error is ErrorCode.REBALANCE_IN_PROGRESS:
                    self.phase = "out"
                elif error is not NONE:
                    self._failed(error)

    def _joined(self, reply: Any) -> None:
        if reply.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.phase = "out"
        elif reply.error_code != NONE:
            self._failed(reply.error_code)
        else:
            given: list[SyncGroupRequestAssignment] = []
            if reply.leader == self.client.member_id and not reply.skip_assignment:
                members = sorted(member.member_id for member in reply.members)
                shares = {m: list(range(n, PARTITIONS, len(members))) for n, m in enumerate(members)}
                given = [SyncGroupRequestAssignment(m, assignment(t=s)) for m, s in shares.items()]
            self.waiting = self.client.sync_with(given)
            self.phase = "syncing"

    def _synced(self, reply: Any) -> None:
        if reply.error_code == NONE:
            self.partitions = {index for _, index in assigned_partitions(reply.assignment)}
            self.client.owned = {"t": sorted(self.partitions)} if self.partitions else {}
            self.phase = "reading"
        elif reply.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.phase = "out"
        else:
            self._failed(reply.error_code)

    def _failed(self, error: int) -> None:
        self.phase = "out"
        if error not in RETRY:
            self.client.member_id = ""
            self.client.generation = -1
            self.client.owned = {}
            self.partitions = set()

    def leave(self) -> None:
        if self.client.member_id:
            self.client.leave()

    @property
    def member_id(self) -> str:
        return self.client.member_id

    @property
    def is_reading(self) -> bool:
        return self.phase == "reading"


class ConsumerActor:
    """A consumer of the new protocol. It may be slow to let go, and answers to it may be lost."""

    def __init__(self, driver: Driver, name: str, group: str, instance_id: str | None) -> None:
        self.client = ConsumerClient(driver, name, group, instance_id=instance_id, rebalance_ms=15_000)
        self.loses_answer = False

    def step(self) -> None:
        client = self.client
        reply = client.driver.ask(client.request(), 1, client.name)
        if self.loses_answer:
            self.loses_answer = False
            return
        if reply.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            client.epoch, client.owned = 0, {}
        client.obey(reply)

    def leave(self) -> None:
        if self.client.epoch > 0:
            self.client.leave()

    @property
    def partitions(self) -> set[int]:
        return self.client.has()

    @property
    def member_id(self) -> str:
        return self.client.member_id

    @property
    def is_reading(self) -> bool:
        return self.client.epoch > 0


class Simulation:
    """``kinds`` says which protocols the clients of the one group speak."""

    def __init__(self, seed: int, kinds: str, interval_ms: int = 0) -> None:
        self.chance = random.Random(seed)
        self.kinds = kinds
        config = GroupConfig(
            group_initial_rebalance_delay_ms=2_000,
            group_consumer_session_timeout_ms=12_000,
            group_consumer_assignment_interval_ms=interval_ms,
        )
        self.driver = Driver(config, image(t=PARTITIONS))
        self.actors: list[ClassicActor | ConsumerActor] = []
        self.names = 0
        self.committed: dict[int, int] = {}
        self.generations: dict[int, dict[int, str]] = {}
        self.protocol: type | None = None

    def run(self, steps: int) -> None:
        for step in range(steps):
            self.disturb()
            if step % 30 == 0:
                self.driver.assert_replayable()
                self.driver.assert_compactable(self.chance.randint(0, len(self.driver.log)))
            self.chance.shuffle(self.actors)
            for actor in self.actors:
                if self.chance.random() < 0.8:
                    actor.step()
                    self.check()
            self.driver.advance(self.chance.choice([0, STEP_MS, STEP_MS, 3 * STEP_MS]))
            self.check()
        self.settle()

    def disturb(self) -> None:
        dice = self.chance.random()
        if dice < 0.12 and len(self.actors) < 6:
            self.names += 1
            instance_id = f"i{self.names}" if self.chance.random() < 0.3 else None
            kind = self.chance.choice(self.kinds)
            actor_class = ClassicActor if kind == "c" else ConsumerActor
            self.actors.append(actor_class(self.driver, f"{kind}{self.names}", "g", instance_id))
        elif dice < 0.16 and self.actors:
            self.actors.pop().leave()
        elif dice < 0.19 and self.actors:
            self.actors.pop()
        elif dice < 0.22:
            self.driver.restart()
        elif dice < 0.26:
            self.driver.append_errors.append(self.chance.choice(FAILURES))
        elif dice < 0.30:
            for actor in self.actors:
                if isinstance(actor, ConsumerActor):
                    actor.loses_answer = self.chance.random() < 0.3
                    self._let_go_or_not(actor, self.chance.random() < 0.3)
        elif dice < 0.45 and self.actors:
            self.commit(self.chance.choice(self.actors))

    def _let_go_or_not(self, actor: ConsumerActor, holds: bool) -> None:
        client = actor.client
        if client.holds and not holds:
            group = self.driver.groups.get("g")
            member = group.members.get(client.member_id) if isinstance(group, ConsumerGroup) else None
            assigned = {} if member is None else member.assigned
            client.owned = {t: set(assigned[t]) & held for t, held in client.owned.items() if t in assigned}
        client.holds = holds

    def commit(self, actor: ClassicActor | ConsumerActor) -> None:
        if not actor.is_reading or not actor.partitions:
            return
        partition = self.chance.choice(sorted(actor.partitions))
        offset = self.committed.get(partition, -1) + 1
        if actor.client.commit("t", partition, offset) is NONE:
            self.committed[partition] = offset

    # what must hold at every moment

    def check(self) -> None:
        group = self.driver.groups.get("g")
        if type(group) is not self.protocol:
            # A group that was empty and begins anew in the other protocol counts from the start.
            self.protocol = type(group)
            self.generations.clear()
        if isinstance(group, ConsumerGroup):
            self._check_owners(group)
        elif isinstance(group, ClassicGroup):
            self._check_generation(group)

    def _check_owners(self, group: ConsumerGroup) -> None:
        """No partition is with two members, neither as we know it nor as they do."""
        known = [
            (topic_id, index)
            for member in group.members.values()
            for owned in (member.assigned, member.pending_revocation)
            for topic_id, indexes in owned.items()
            for index in indexes
        ]
        assert len(known) == len(set(known)), known
        topic_id = topic("t", 0).topic_id
        held: dict[int, str] = {}
        for actor in self.actors:
            member = group.members.get(actor.member_id)
            if not isinstance(actor, ConsumerActor) or member is None or actor.client.epoch == 0:
                continue
            for index in actor.partitions:
                assert member.owned_epoch(topic_id, index) is not None or actor.client.holds
                if not actor.client.holds:
                    assert index not in held, (index, held[index], actor.member_id)
                    held[index] = actor.member_id

    def _check_generation(self, group: ClassicGroup) -> None:
        """In one generation each partition belongs to one member, whoever tells it."""
        for actor in self.actors:
            if not isinstance(actor, ClassicActor) or not actor.is_reading:
                continue
            owners = self.generations.setdefault(actor.client.generation, {})
            if actor.member_id not in group.members:
                continue
            if group.generation == actor.client.generation:
                for index in actor.partitions:
                    owner = owners.setdefault(index, self._person(actor))
                    assert owner == self._person(actor), (actor.client.generation, index)

    @staticmethod
    def _person(actor: ClassicActor) -> str:
        """A static member is the same under all of its ids."""
        return actor.client.instance_id or actor.member_id

    # what must be reached

    def settle(self) -> None:
        """Leave the survivors in peace: they share everything out, and then nothing moves."""
        self.driver.append_errors.clear()
        for actor in self.actors:
            if isinstance(actor, ConsumerActor):
                actor.loses_answer = False
                self._let_go_or_not(actor, False)
        self._rounds(60)
        before = self._standing()
        self._rounds(20)
        assert self._standing() == before
        if self.actors:
            shares = sorted(index for actor in self.actors for index in actor.partitions)
            assert shares == list(range(PARTITIONS)), before
        for partition, offset in self.committed.items():
            assert fetch(self.driver, "g", "t", partition) == (offset, NONE)
        self.driver.assert_replayable()

        self.actors.clear()
        self.driver.advance(200_000)
        group = self.driver.groups.get("g")
        assert group is None or group.is_empty
        unanswered = self.driver.unanswered()
        assert unanswered == [], "every request is answered in the end"
        self.driver.assert_replayable()

    def _rounds(self, count: int) -> None:
        for _ in range(count):
            for actor in self.actors:
                actor.step()
                self.check()
            self.driver.advance(STEP_MS)

    def _standing(self) -> Any:
        group = self.driver.groups.get("g")
        number = None
        if isinstance(group, ClassicGroup):
            number = (group.state.value, group.generation)
        elif isinstance(group, ConsumerGroup):
            number = (group.state, group.epoch)
        return number, [(actor.member_id, sorted(actor.partitions)) for actor in self.actors]
