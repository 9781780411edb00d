"""The coordinator's settings, under Kafka's names with dots turned into underscores."""

from dataclasses import dataclass
from typing import Final

DAY_MS: Final = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """Kafka 4's settings and defaults."""

    transaction_max_timeout_ms: int = 15 * 60 * 1000
    transactional_id_expiration_ms: int = 7 * DAY_MS
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 60 * 60 * 1000
    #: The cluster's level of the feature ``transaction.version``: by what the coordinator itself aborts and
    #: how it writes its records. What a client can do shows in the version of its request.
    transaction_version: int = 2
