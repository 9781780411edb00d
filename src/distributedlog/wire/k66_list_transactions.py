"""ListTransactions (key 66), versions 0 to 2, flexible from 0.

Lists the transactional ids that a broker coordinates (KIP-664). An empty filter lets all pass, and
filters of different kinds are joined by "and". State names that the broker does not know come back.

- 1: only transactions open for longer than so many milliseconds; negative for all (KIP-994)
- 2: only ids that a regular expression matches, or INVALID_REGULAR_EXPRESSION (KIP-1152)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, Int64, versions


@dataclass(slots=True)
class ListTransactionsRequest:
    state_filters: list[str] = field(default_factory=list)
    producer_id_filters: list[Int64] = field(default_factory=list)
    duration_filter: Annotated[Int64, versions("1+")] = -1
    transactional_id_pattern: Annotated[str | None, versions("2+")] = None


@dataclass(slots=True)
class ListedTransaction:
    transactional_id: str = ""
    producer_id: Int64 = 0
    transaction_state: str = ""


@dataclass(slots=True)
class ListTransactionsResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    unknown_state_filters: list[str] = field(default_factory=list)
    transaction_states: list[ListedTransaction] = field(default_factory=list)
