"""FindCoordinator (key 10), versions 0 to 6, flexible from 3.

Tells which broker coordinates a group (key type 0), a transactional id (1) or a share partition (2,
with a key of the form ``groupId:topicId:partition``).

- 1: ``key_type``; before it every key is a group
- 4: many keys in one request; the answers move into ``coordinators`` (KIP-699)
- 5: the error TRANSACTION_ABORTABLE (KIP-890)
- 6: share groups (KIP-932)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int8, Int16, Int32, ignorable, versions


@dataclass(slots=True)
class FindCoordinatorRequest:
    key: Annotated[str, versions("0-3")] = ""
    key_type: Annotated[Int8, versions("1+")] = 0
    coordinator_keys: Annotated[list[str], versions("4+")] = field(default_factory=list)


@dataclass(slots=True)
class Coordinator:
    key: str = ""
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    error_code: Int16 = 0
    error_message: Annotated[str | None, ignorable] = ""


@dataclass(slots=True)
class FindCoordinatorResponse:
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    error_code: Annotated[Int16, versions("0-3")] = 0
    error_message: Annotated[str | None, versions("1-3"), ignorable] = ""
    node_id: Annotated[Int32, versions("0-3")] = 0
    host: Annotated[str, versions("0-3")] = ""
    port: Annotated[Int32, versions("0-3")] = 0
    coordinators: Annotated[list[Coordinator], versions("4+")] = field(default_factory=list)
