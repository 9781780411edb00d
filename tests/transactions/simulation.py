"""Producers, partitions and a coordinator in a world that goes wrong: requests are delayed, doubled and
shuffled, answers are lost, appends fail, the disk is slow, the broker is killed, producers sleep and wake.

Everything follows from a seed. `Ledger` reads every record of the coordinator's log as it is written and says
what must hold at each; `Simulation.settle` says what must be reached when nothing more goes wrong.
"""

import random
from typing import Any, Final

from tests.transactions.clients import add_request_v2, added, tp
from tests.transactions.driver import Driver
from tests.transactions.simulated_log import Data, Marker, SimulatedLog
from tests.transactions.simulated_producers import TIMEOUT_MS, SimulatedProducer

from distributedlog.transactions import MarkerPlan, TransactionConfig, TransactionMetadata, TransactionState
from distributedlog.transactions.records import encoded_record, metadata_of
from distributedlog.transactions.states import check_transition
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.values import decode_transaction_key, decode_transaction_value

NAMES: Final = ["a-0", "a-1", "b-0", "b-1"]
APPEND_ERRORS: Final = [
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
]
MARKER_ERRORS: Final = [
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.REQUEST_TIMED_OUT,
]
#: Ids that are old when it begins have few epochs left.
NEAR_THE_LAST_EPOCH: Final = 32_763

Identity = tuple[int, int]


class Ledger:
    """What the coordinator's log says so far; made anew from the log when a crash has cut it."""

    def __init__(self) -> None:
        self.last: dict[str, TransactionMetadata] = {}
        #: How many transactions of an id have been decided.
        self.decided: dict[str, int] = {}
        self.decisions: dict[str, list[TransactionMetadata]] = {}
        #: Which producer's session an identity belongs to: every InitProducerId begins one.
        self.sessions: dict[str, int] = {}
        self.session_of: dict[tuple[str, Identity], int] = {}

    def take(self, key: bytes, value: bytes | None) -> None:
        """A record is appended."""
        name = decode_transaction_key(key).transactional_id
        content = decode_transaction_value(decode_transaction_key(key), value)
        assert content is not None, "nothing expires here"
        new, old = metadata_of(name, content), self.last.get(name)
        if old is None:
            assert new.state is TransactionState.EMPTY
        else:
            self._check_step(old, new)
        if new.is_prepared:
            self.decided[name] = self.decided.get(name, 0) + 1
            self.decisions.setdefault(name, []).append(new)
        identity = name, new.client_identity
        if identity not in self.session_of:
            self.sessions[name] = self.sessions.get(name, 0) + (new.state is TransactionState.EMPTY)
            self.session_of[identity] = self.sessions[name]
        self.last[name] = new

    def _check_step(self, old: TransactionMetadata, new: TransactionMetadata) -> None:
        if new.state is TransactionState.PREPARE_ABORT and old.state is TransactionState.ONGOING:
            # Perhaps by way of PREPARE_EPOCH_FENCE, which is never written.
            check_transition(TransactionState.PREPARE_EPOCH_FENCE, new.state)
        else:
            check_transition(old.state, new.state)
        if old.is_prepared:
            wanted = old.state is TransactionState.PREPARE_COMMIT
            assert wanted == (new.state is TransactionState.COMPLETE_COMMIT), "decided twice"
            assert old.client_identity == new.client_identity
        assert new.last_update_ms >= old.last_update_ms
        if new.producer_id == old.producer_id:
            assert new.producer_epoch >= old.producer_epoch
        if new.state is TransactionState.ONGOING and old.state is TransactionState.ONGOING:
            assert new.partitions >= old.partitions
        if new.is_prepared:
            assert new.partitions == old.partitions, "nothing joins a transaction with its end"


class LedgerDriver(Driver):
    """A driver whose log is read as it is written."""

    def __init__(self, config: TransactionConfig) -> None:
        self.ledger = Ledger()
        super().__init__(config)

    def appended(self, records: list[tuple[bytes, bytes | None]]) -> None:
        for record in records:
            self.ledger.take(*record)
        super().appended(records)

    def crash(self, kept: int | None = None) -> None:
        self.assert_replayable(compacted=False)
        before = len(self.log)
        keep = max(self.durable, before if kept is None else kept)
        if keep < before:
            self.ledger = Ledger()
            for record in self.log[:keep]:
                self.ledger.take(*record)
        super().crash(kept)


class Simulation:
    """See the module."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.names = NAMES
        config = TransactionConfig(transaction_version=chance.choice([2, 2, 2, 0]))
        self.driver = LedgerDriver(config)
        self.driver.holds_disk = self.driver.holds_markers = self.driver.holds_ids = True
        if chance.random() < 0.3:
            self._put_aged("t")
        self.logs = {tp(name): SimulatedLog() for name in NAMES}
        versions = [2, 2, 1] if config.transaction_version == 2 else [1]
        #: The same id may be used by producers of one version only: mixing them gives up version 2's promise.
        self.version_of = {name: chance.choice(versions) for name in ("t", "u")}
        self.producers = [
            SimulatedProducer(self, name, self.version_of[name])
            for name in ("t", "u")
            for _ in range(chance.choice([1, 2, 2]))
        ]
        #: Requests on their way: who sent it, its number, itself, its version.
        self.flying: list[tuple[SimulatedProducer, int, Any, int]] = []
        #: By token of the driver, what is to be done with the answer.
        self.expected: dict[int, Any] = {}
        self.seen_replies = 0
        self.numbers = self.serials = 0
        #: What version 2's producers were told: (id, identity, is commit, what they had written).
        self.told: list[tuple[str, Identity, bool, list[tuple[str, int]]]] = []

    def _put_aged(self, name: str) -> None:
        driver = self.driver
        aged = TransactionMetadata(name, 7, NEAR_THE_LAST_EPOCH, TIMEOUT_MS, driver.now_ms)
        record = encoded_record(name, aged, driver.config.transaction_version)
        driver.appended([record])
        driver.coordinator.replay(*record)
        driver.flush()

    # what producers do

    def send(self, producer: SimulatedProducer, request: Any, api_version: int) -> int:
        """Send a request to the coordinator; the number of the answer."""
        self.numbers += 1
        self.flying.append((producer, self.numbers, request, api_version))
        return self.numbers

    def produce(self, producer: SimulatedProducer, partition: str) -> None:
        """Write to a partition, which asks the coordinator where it has to."""
        self.serials += 1
        serial, (producer_id, epoch) = self.serials, producer.identity
        log = self.logs[tp(partition)]
        transaction = log.open_transaction(producer_id, epoch)
        if transaction is not None:
            error = log.append(Data(producer_id, epoch, transaction, serial), log.of(producer_id).guard)
            producer.produced(partition, serial, error)
            return
        name, guard = producer.transactional_id, log.of(producer_id).guard
        request = add_request_v2(name, producer_id, epoch, partition, verify_only=producer.version == 1)

        def answered(response: Any, transaction: int) -> None:
            error = added(response)
            if error is ErrorCode.NONE:
                error = log.append(Data(producer_id, epoch, transaction, serial), guard)
            producer.produced(partition, serial, error)

        self._ask(request, 5, name, producer.identity, answered)

    def acknowledged(self, producer: SimulatedProducer) -> None:
        """A producer was told that its transaction is ended as it wanted."""
        if producer.version == 2:
            told = producer.transactional_id, producer.identity, producer.is_commit, producer.written
            self.told.append(told)

    # the way to the coordinator and back

    def _ask(self, request: Any, api_version: int, name: str, identity: Identity, answered: Any) -> None:
        ledger = self.driver.ledger
        transaction = ledger.decided.get(name, 0)
        session = ledger.sessions.get(name, 0)

        def check(response: Any) -> None:
            is_init = api_version == 5 and hasattr(request, "transaction_timeout_ms")
            error = added(response) if hasattr(response, "results_by_transaction") else response.error_code
            if not is_init and error == ErrorCode.NONE:
                mine = ledger.session_of[name, identity]
                assert mine == session, f"{identity} of {name} was fenced and yet succeeds"
            answered(response, transaction)

        self.expected[self.driver.send(request, api_version)] = check

    def _deliver_request(self) -> None:
        index = self.chance.randrange(len(self.flying))
        producer, number, request, api_version = self.flying[index]
        if self.chance.random() < 0.85:
            self.flying[index] = self.flying[-1]
            self.flying.pop()
        is_lost = self.chance.random() < 0.1
        identity = getattr(request, "producer_id", -1), getattr(request, "producer_epoch", -1)
        if hasattr(request, "v3_and_below_producer_id"):
            identity = request.v3_and_below_producer_id, request.v3_and_below_producer_epoch

        def answered(response: Any, _: int) -> None:
            if not is_lost:
                producer.answered(number, response)

        self._ask(request, api_version, producer.transactional_id, identity, answered)

    def _take_replies(self) -> None:
        order = self.driver.reply_order
        while self.seen_replies < len(order):
            token = order[self.seen_replies]
            self.seen_replies += 1
            check = self.expected.pop(token, None)
            if check is not None:
                check(self.driver.replies[token])

    # what goes on

    def run(self, steps: int) -> None:
        """Let things go wrong for so many steps, and then see that all comes right."""
        for _ in range(steps):
            self._step()
            self._take_replies()
        self.settle()

    def _step(self) -> None:
        if self.chance.random() < 0.15:
            self._disturb()
            return
        chance, driver = self.chance, self.driver
        producer = chance.choice(self.producers)
        if not producer.is_paused:
            producer.step()
        if self.flying and chance.random() < 0.9:
            self._deliver_request()
        if driver.wanting and chance.random() < 0.8:
            is_refused = chance.random() < 0.05
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE if is_refused else None
            driver.give_id(chance.choice(driver.wanting), error)
        if chance.random() < 0.7:
            driver.flush()
        if driver.plans and chance.random() < 0.6:
            self._write_markers(chance.choice(driver.plans), 0.15)

    def _disturb(self) -> None:
        chance, driver = self.chance, self.driver
        dice = chance.random()
        if dice < 0.40:
            driver.advance(chance.choice([1, 30, 1_000, 1_000, TIMEOUT_MS // 2]))
        elif dice < 0.55:
            driver.append_errors.append(chance.choice(APPEND_ERRORS))
        elif dice < 0.85:
            producer = chance.choice(self.producers)
            producer.is_paused = not producer.is_paused
        else:
            self._crash()

    def _crash(self) -> None:
        """The broker is killed, or loses its power: then what was not on the disk may be lost."""
        driver = self.driver
        if self.chance.random() < 0.3:
            driver.restart()
        else:
            driver.crash(self.chance.randint(driver.durable, len(driver.log)))
        self._take_replies()
        self.expected.clear()
        for producer in self.producers:
            if producer.phase == "produced":
                producer.produced("", 0, ErrorCode.NOT_COORDINATOR)

    def _write_markers(self, plan: MarkerPlan, errors_share: float) -> None:
        transaction = self.driver.ledger.decided.get(plan.transactional_id, 0) - 1
        assert transaction >= 0, f"{plan} has not been decided, or the decision was lost"
        errors = {}
        for each in sorted(plan.partitions):
            fails = self.chance.random() < errors_share
            if fails and self.chance.random() < 0.7:
                errors[each] = self.chance.choice(MARKER_ERRORS)
                continue
            error = self.logs[each].mark(plan, transaction)
            # It may be there although the answer says that it is not.
            errors[each] = self.chance.choice(MARKER_ERRORS) if fails else error
        self.driver.write_markers(plan, errors)

    # what must be reached

    def settle(self) -> None:
        """Nothing more goes wrong, and nobody begins anything: all that is open comes to its end."""
        driver = self.driver
        driver.append_errors.clear()
        self.flying.clear()
        driver.holds_disk = driver.holds_ids = False
        driver.flush()
        for wanted in list(driver.wanting):
            driver.give_id(wanted)
        for _ in range(30):
            while driver.plans:
                self._write_markers(driver.plans[0], 0)
            if not driver.coordinator.state.ongoing and not driver.coordinator.state.prepared:
                break
            driver.advance(TIMEOUT_MS // 2)
        self._take_replies()
        state = driver.coordinator.state
        assert not state.prepared, "every prepared transaction completes"
        assert not state.ongoing, "every open transaction times out"
        assert not state.ending
        assert all(not known.open for log in self.logs.values() for known in log.producers.values())
        driver.assert_replayable()
        self._check_markers()
        self._check_what_was_told()

    def _check_markers(self) -> None:
        """Every batch is ended by the decision about its transaction, and no other."""
        decisions = self.driver.ledger.decisions
        owners = {decision.producer_id: name for name, decided in decisions.items() for decision in decided}
        for log in self.logs.values():
            waiting: dict[int, list[Data]] = {}
            for entry in log.entries:
                if isinstance(entry, Data):
                    waiting.setdefault(entry.producer_id, []).append(entry)
                    continue
                decision = decisions[owners[entry.producer_id]][entry.transaction]
                self._check_marker(entry, decision, waiting.pop(entry.producer_id, []))
            assert not any(waiting.values())

    def _check_marker(self, marker: Marker, decision: TransactionMetadata, ended: list[Data]) -> None:
        assert marker.is_commit == (decision.state is TransactionState.PREPARE_COMMIT)
        assert (marker.producer_id, marker.epoch) == (decision.producer_id, decision.producer_epoch)
        for data in ended:
            assert data.transaction == marker.transaction
            if decision.client_version == 2:
                assert data.epoch == marker.epoch - 1, "nothing is added after the end, nor before"

    def _check_what_was_told(self) -> None:
        """Of version 2: what a producer was told of its transaction is true of every batch of it."""
        for name, (producer_id, epoch), is_commit, written in self.told:
            decided = [
                each
                for each in self.driver.ledger.decisions[name]
                if each.producer_id == producer_id and each.producer_epoch == epoch + 1
            ]
            assert len(decided) == 1, "a transaction is decided once"
            assert (decided[0].state is TransactionState.PREPARE_COMMIT) == is_commit
            for partition, serial in written:
                assert tp(partition) in decided[0].partitions
                entries = self.logs[tp(partition)].entries
                assert any(isinstance(each, Data) and each.serial == serial for each in entries)
