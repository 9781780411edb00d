"""Transactions: a coordinator without io.

`TransactionCoordinator` is what the broker drives; `Context` and `Outcome` are how.
"""

from distributedlog.coordination import Context, Reply, Timer
from distributedlog.transactions.config import TransactionConfig
from distributedlog.transactions.coordinator import TransactionCoordinator
from distributedlog.transactions.metadata import TopicPartition, TransactionMetadata
from distributedlog.transactions.outcome import IdWanted, MarkerPlan, Outcome
from distributedlog.transactions.state import TransactionCounts
from distributedlog.transactions.states import TransactionState

__all__ = [
    "Context",
    "IdWanted",
    "MarkerPlan",
    "Outcome",
    "Reply",
    "Timer",
    "TopicPartition",
    "TransactionConfig",
    "TransactionCoordinator",
    "TransactionCounts",
    "TransactionMetadata",
    "TransactionState",
]
