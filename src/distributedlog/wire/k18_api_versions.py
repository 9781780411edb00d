"""ApiVersions (key 18), versions 0 to 4, flexible from 3.

The first request on a connection: the client learns which versions the broker serves. A broker that
does not know the request's version answers with a version 0 body, UNSUPPORTED_VERSION and the full
list, so that the client can try again. The response header is version 0 in every version: the
client cannot know yet which one to expect.

- 1: throttle time
- 3: the client names its software; features of the cluster as tagged fields (KIP-584)
- 4: a feature's lowest supported version may be 0
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, Int64, ignorable, tagged, versions


@dataclass(slots=True)
class ApiVersionsRequest:
    client_software_name: Annotated[str, versions("3+"), ignorable] = ""
    client_software_version: Annotated[str, versions("3+"), ignorable] = ""


@dataclass(slots=True)
class ApiVersion:
    api_key: Int16 = 0
    min_version: Int16 = 0
    max_version: Int16 = 0


@dataclass(slots=True)
class SupportedFeatureKey:
    name: str = ""
    min_version: Int16 = 0
    max_version: Int16 = 0


@dataclass(slots=True)
class FinalizedFeatureKey:
    name: str = ""
    max_version_level: Int16 = 0
    min_version_level: Int16 = 0


@dataclass(slots=True)
class ApiVersionsResponse:
    error_code: Int16 = 0
    api_keys: list[ApiVersion] = field(default_factory=list)
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    supported_features: Annotated[list[SupportedFeatureKey], tagged(0, "3+"), ignorable] = field(
        default_factory=list
    )
    finalized_features_epoch: Annotated[Int64, tagged(1, "3+"), ignorable] = -1
    finalized_features: Annotated[list[FinalizedFeatureKey], tagged(2, "3+"), ignorable] = field(
        default_factory=list
    )
    zk_migration_ready: Annotated[bool, tagged(3, "3+"), ignorable] = False
