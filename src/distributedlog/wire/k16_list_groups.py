"""ListGroups (key 16), versions 0 to 5, flexible from 3.

Lists the groups that this broker coordinates; whoever wants all of the cluster's asks every broker. An
empty filter lets everything through.

- 1: the throttle time
- 4: filter by state, and the state of each group (KIP-518)
- 5: filter by type, and the type of each group (KIP-848)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, ignorable, versions


@dataclass(slots=True)
class ListGroupsRequest:
    states_filter: Annotated[list[str], versions("4+")] = field(default_factory=list)
    types_filter: Annotated[list[str], versions("5+")] = field(default_factory=list)


@dataclass(slots=True)
class ListedGroup:
    group_id: str = ""
    protocol_type: str = ""
    group_state: Annotated[str, versions("4+"), ignorable] = ""
    group_type: Annotated[str, versions("5+"), ignorable] = ""


@dataclass(slots=True)
class ListGroupsResponse:
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    error_code: Int16 = 0
    groups: list[ListedGroup] = field(default_factory=list)
