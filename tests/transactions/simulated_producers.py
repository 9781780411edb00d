"""Producers of both versions, as real ones behave: they ask again, give up, get paused, and begin anew."""

from typing import TYPE_CHECKING, Any

from tests.transactions.clients import INIT, add_request_v1, added, init_request

from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k26_end_txn import EndTxnRequest

if TYPE_CHECKING:
    from tests.transactions.simulation import Simulation

RETRIABLE = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
TIMEOUT_MS = 30_000


class SimulatedProducer:
    """One process with a transactional id, which others may have too."""

    def __init__(self, world: "Simulation", transactional_id: str, version: int) -> None:
        self.world = world
        self.transactional_id = transactional_id
        self.version = version
        self.is_paused = False
        self.identity = (-1, -1)
        self.phase = "new"
        self.partitions: list[str] = []
        self.written: list[tuple[str, int]] = []
        self.is_commit = True
        #: The request that is waited for: its number, itself, its version.
        self.waiting: int | None = None
        self.request: Any = None
        self.api_version = 0
        self.patience = 0

    def step(self) -> None:
        """Go on, or wait a little longer for the answer."""
        if self.waiting is not None:
            self.patience -= 1
            if self.patience <= 0:
                self._send()
            return
        match self.phase:
            case "new":
                self._ask("initializing", init_request(self.transactional_id, TIMEOUT_MS), INIT)
            case "ready":
                self._begin()
            case "writing":
                self._write()
            case _:
                self._send()

    def _begin(self) -> None:
        chance = self.world.chance
        if chance.random() < 0.08:
            producer_id, epoch = self.identity
            request = init_request(
                self.transactional_id, TIMEOUT_MS, producer_id=producer_id, producer_epoch=epoch
            )
            self._ask("initializing", request, INIT)
            return
        self.partitions = chance.sample(self.world.names, chance.randint(1, 3))
        self.written = []
        if self.version == 1:
            request = add_request_v1(self.transactional_id, *self.identity, *self.partitions)
            self._ask("adding", request, 3)
        else:
            self.phase = "writing"

    def _write(self) -> None:
        chance = self.world.chance
        if len(self.written) >= 3 or chance.random() < 0.3:
            self.is_commit = chance.random() < 0.7
            request = EndTxnRequest(self.transactional_id, *self.identity, self.is_commit)
            self._ask("ending", request, 5 if self.version == 2 else 4)
            return
        self.phase = "produced"
        self.world.produce(self, chance.choice(self.partitions))

    def produced(self, partition: str, serial: int, error: ErrorCode) -> None:
        """What came of a write."""
        if self.phase != "produced":
            return
        self.phase = "writing"
        if error is ErrorCode.NONE:
            self.written.append((partition, serial))
        elif error in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING):
            self._begin_anew()
        elif error not in RETRIABLE:
            # The transaction can only be aborted.
            self.is_commit = False
            request = EndTxnRequest(self.transactional_id, *self.identity, False)
            self._ask("ending", request, 5 if self.version == 2 else 4)

    def _begin_anew(self) -> None:
        self.phase, self.identity = "new", (-1, -1)

    # requests

    def _ask(self, phase: str, request: Any, api_version: int) -> None:
        self.phase, self.request, self.api_version = phase, request, api_version
        self._send()

    def _send(self) -> None:
        self.patience = self.world.chance.randint(3, 12)
        self.waiting = self.world.send(self, self.request, self.api_version)

    def answered(self, number: int, response: Any) -> None:
        """An answer comes; to one that is not waited for nobody listens."""
        if number != self.waiting:
            return
        self.waiting = None
        if self.phase == "adding":
            errors = added(response)
            error = errors if isinstance(errors, ErrorCode) else ErrorCode.UNKNOWN_SERVER_ERROR
        else:
            error = ErrorCode(response.error_code)
        if error in RETRIABLE:
            return
        if error is not ErrorCode.NONE:
            self._begin_anew()
        elif self.phase == "adding":
            self.phase = "writing"
        else:
            if self.phase == "ending":
                self.world.acknowledged(self)
            if self.phase == "initializing" or self.version == 2:
                self.identity = response.producer_id, response.producer_epoch
            self.phase = "ready"
