"""A transaction coordinator that says what a test tells it to, when it tells it to."""

from typing import Any, NamedTuple

from distributedlog.wire import ErrorCode


class Asked(NamedTuple):
    """One question, and the way to answer it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: list[tuple[str, int]]
    may_add: bool
    done: Any

    def answer(self, error=ErrorCode.NONE, **of_topics):
        """The same for all partitions, but for the topics that are named."""
        self.done({key: of_topics.get(key[0], error) for key in self.partitions})


class ScriptedTransactions:
    """Answers with ``error`` at once, or where ``holds`` keeps the questions for the test to answer."""

    def __init__(self):
        self.error = ErrorCode.NONE
        self.holds = False
        self.asked = []

    def verify_or_add(self, transactional_id, producer_id, producer_epoch, partitions, *, may_add, done):
        asked = Asked(transactional_id, producer_id, producer_epoch, list(partitions), may_add, done)
        self.asked.append(asked)
        if not self.holds:
            asked.answer(self.error)
