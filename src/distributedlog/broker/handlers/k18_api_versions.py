"""ApiVersions: what this broker serves, and the features of the cluster.

A request of a version that nobody knows comes here as version 0; the connection writes UNSUPPORTED_VERSION
into the answer.
"""

import re
from typing import TYPE_CHECKING, Final

from distributedlog.broker.broker_features import SUPPORTED_LEVELS
from distributedlog.broker.served_apis import ADVERTISED
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

FIRST_WITH_SOFTWARE: Final = 3
#: Clients before this version take a feature's lowest level of 0 for an error: they are not told of it.
FIRST_WITH_LEVEL_0: Final = 4
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(broker: "Broker", context: "RequestContext", request: ApiVersionsRequest) -> ApiVersionsResponse:
    if context.version >= FIRST_WITH_SOFTWARE:
        name, version = request.client_software_name, request.client_software_version
        if not _SOFTWARE.fullmatch(name) or not _SOFTWARE.fullmatch(version):
            return ApiVersionsResponse(int(ErrorCode.INVALID_REQUEST))
        context.client.software_name, context.client.software_version = name, version
    return ApiVersionsResponse(
        api_keys=[ApiVersion(key, first, last) for key, (first, last) in sorted(ADVERTISED.items())],
        supported_features=[
            SupportedFeatureKey(name, first, last)
            for name, (first, last) in SUPPORTED_LEVELS.items()
            if first or context.version >= FIRST_WITH_LEVEL_0
        ],
        finalized_features_epoch=broker.image.end_offset,
        finalized_features=[
            FinalizedFeatureKey(name, level, level) for name, level in broker.image.features.items()
        ],
    )
