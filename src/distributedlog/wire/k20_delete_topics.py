"""DeleteTopics (key 20), versions 1 to 6, flexible from 4.

Deletes topics and all that is in them; each topic has its own result.

- 1: the throttle time
- 3: the error TOPIC_DELETION_DISABLED
- 5: error messages, and the error THROTTLING_QUOTA_EXCEEDED (KIP-599)
- 6: topics by name or by id, in ``topics`` in place of ``topic_names`` (KIP-516)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, Uuid, ignorable, nullable, versions


@dataclass(slots=True)
class DeleteTopicState:
    name: str | None = None
    topic_id: Uuid = ZERO_UUID


@dataclass(slots=True)
class DeleteTopicsRequest:
    topics: Annotated[list[DeleteTopicState], versions("6+")] = field(default_factory=list)
    topic_names: Annotated[list[str], versions("0-5"), ignorable] = field(default_factory=list)
    timeout_ms: Int32 = 0


@dataclass(slots=True)
class DeletableTopicResult:
    name: Annotated[str | None, nullable("6+")] = ""
    topic_id: Annotated[Uuid, versions("6+"), ignorable] = ZERO_UUID
    error_code: Int16 = 0
    error_message: Annotated[str | None, versions("5+"), ignorable] = None


@dataclass(slots=True)
class DeleteTopicsResponse:
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    responses: list[DeletableTopicResult] = field(default_factory=list)
