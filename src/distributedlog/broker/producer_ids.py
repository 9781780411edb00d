"""Producer ids, each given once for ever (KIP-98, KIP-730).

Ids are taken from the metadata log a block at a time: the record that a block is taken is on the disk
before the first id of it is given. What a restart leaves unused of a block is lost, and nobody minds.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from distributedlog.wire.values.metadata_records import ProducerIdsRecord

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker

BLOCK_SIZE: Final = 1000
PRODUCER_ID_MAX: Final = 2**63 - 1

#: Told an id, or why there is none.
IdCallback = Callable[[int | BaseException], None]


class ProducerIds:
    """Gives ids to those who ask, in the order in which they ask."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._next = 0
        self._end = 0
        self._waiting: deque[IdCallback] = deque()

    def take(self, done: IdCallback) -> None:
        """Give the next id to ``done``, at once when there is one at hand."""
        self._waiting.append(done)
        if self._next < self._end:
            self._give()
        elif len(self._waiting) == 1:
            self._take_block()

    def _give(self) -> None:
        while self._waiting and self._next < self._end:
            producer_id, self._next = self._next, self._next + 1
            self._waiting.popleft()(producer_id)

    def _take_block(self) -> None:
        broker = self._broker
        first = broker.image.next_producer_id
        if first > PRODUCER_ID_MAX - BLOCK_SIZE:
            self._fail(OverflowError("all producer ids have been given"))
            return

        def taken() -> None:
            self._next, self._end = first, first + BLOCK_SIZE
            self._give()
            if self._waiting:
                self._take_block()

        record = ProducerIdsRecord(broker.node_id, -1, first + BLOCK_SIZE)
        broker.apply_metadata([record], taken, self._fail)

    def _fail(self, error: BaseException) -> None:
        waiting, self._waiting = self._waiting, deque()
        for done in waiting:
            done(error)
