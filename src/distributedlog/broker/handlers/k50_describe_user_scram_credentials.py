"""DescribeUserScramCredentials: no user has any, because none can be given yet.

Kafka's tools ask for them whenever they describe users, whose quotas are what the user wants to see.
"""

from collections import Counter
from typing import TYPE_CHECKING

from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k50_describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(
    broker: "Broker", context: "RequestContext", request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    results = []
    for name, count in Counter(user.name for user in request.users or ()).items():
        error = ErrorCode.DUPLICATE_RESOURCE if count > 1 else ErrorCode.RESOURCE_NOT_FOUND
        results.append(DescribeUserScramCredentialsResult(name, int(error), error.message))
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)
