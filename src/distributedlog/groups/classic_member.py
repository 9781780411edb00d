"""A member of a classic group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.coordination import Context
    from distributedlog.wire.k11_join_group import JoinGroupRequestProtocol


@dataclass(slots=True)
class ClassicMember:
    """What is known of a member, and which of its requests still wait for an answer.

    ``protocols`` is in the member's order of preference. Only the metadata of the group's protocol is
    persisted, so that after a restart a member is known to support that one alone, until it joins again.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: dict[str, bytes]
    assignment: bytes = b""
    #: has never been answered, so it knows neither its id nor how to send a heartbeat
    is_new: bool = False
    joining: Context | None = None
    syncing: Context | None = None

    @property
    def is_alive_by_waiting(self) -> bool:
        """Whether a waiting request stands for the heartbeats that cannot be sent meanwhile."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)

    def votes_for(self, candidates: set[str]) -> str:
        """The member's first choice among the protocols that all members support."""
        return next(name for name in self.protocols if name in candidates)

    def offers(self, protocols: dict[str, bytes]) -> bool:
        """Whether the member's protocols are these, in this order, with this metadata."""
        return list(self.protocols.items()) == list(protocols.items())


def protocols_of(protocols: Iterable[JoinGroupRequestProtocol]) -> dict[str, bytes]:
    """The protocols of a request by name; the first of two of the same name counts."""
    by_name: dict[str, bytes] = {}
    for protocol in protocols:
        by_name.setdefault(protocol.name, protocol.metadata)
    return by_name
