"""DescribeClientQuotas: `cluster/client_quotas.py` finds them."""

from typing import TYPE_CHECKING

from distributedlog.cluster.client_quotas import find_quotas
from distributedlog.cluster.refused import Refused
from distributedlog.wire.k48_describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(
    broker: "Broker", context: "RequestContext", request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    try:
        return DescribeClientQuotasResponse(error_message=None, entries=find_quotas(broker.image, request))
    except Refused as refusal:
        return DescribeClientQuotasResponse(
            error_code=refusal.code, error_message=refusal.message, entries=None
        )
