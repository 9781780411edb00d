"""The requests of one producer, one after the other, while one of them waits.

A client sends the next request before the last is answered. When the last waits for the coordinator of its
transaction, those behind it must not overtake it: their sequences would be out of order. Other producers
do not wait for it.
"""

import logging
from collections import deque
from collections.abc import Callable

#: Begins something, and calls back when that is over, at once or later.
Work = Callable[[Callable[[], None]], None]

logger = logging.getLogger("distributedlog.broker")


class ProducerTurns:
    """By producer id. Nothing is kept of producers that wait for nothing."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[int, deque[Work]] = {}

    def __len__(self) -> int:
        """How many producers wait for something."""
        return len(self._waiting)

    def take(self, producer_id: int, work: Work) -> None:
        """Begin the work, now or when all work of this producer before it is over."""
        waiting = self._waiting.get(producer_id)
        if waiting is not None:
            waiting.append(work)
            return
        turn = _Turn(self, producer_id)
        work(turn.end)
        if not turn.is_over:
            turn.is_waited_for = True
            self._waiting[producer_id] = deque()

    def next(self, producer_id: int) -> None:
        """The work that was waited for is over."""
        waiting = self._waiting[producer_id]
        while waiting:
            turn = _Turn(self, producer_id)
            try:
                waiting.popleft()(turn.end)
            except Exception:
                # A bug of ours, which must not hold up the producer for ever.
                logger.exception("a request of producer %d could not be taken up again", producer_id)
            else:
                if not turn.is_over:
                    turn.is_waited_for = True
                    return
        del self._waiting[producer_id]


class _Turn:
    __slots__ = ("_producer_id", "_turns", "is_over", "is_waited_for")

    def __init__(self, turns: ProducerTurns, producer_id: int) -> None:
        self._turns = turns
        self._producer_id = producer_id
        self.is_over = False
        self.is_waited_for = False

    def end(self) -> None:
        self.is_over = True
        if self.is_waited_for:
            self._turns.next(self._producer_id)
