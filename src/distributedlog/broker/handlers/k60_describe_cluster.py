"""DescribeCluster: the cluster's id, its controller and its brokers."""

from typing import TYPE_CHECKING, Final

from distributedlog.broker.advertised import advertised_brokers
from distributedlog.broker.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED_FOR
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k60_describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

BROKERS: Final = 1
CONTROLLERS: Final = 2


def handle(
    broker: "Broker", context: "RequestContext", request: DescribeClusterRequest
) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        return _failure(ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker, not a controller")
    if request.endpoint_type != BROKERS:
        return _failure(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"there is no endpoint type {request.endpoint_type}"
        )
    asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        endpoint_type=BROKERS,
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        brokers=[DescribeClusterBroker(*address) for address in advertised_brokers(broker, context)],
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked else NOT_ASKED_FOR,
    )


def _failure(error: ErrorCode, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=int(error), error_message=message)
