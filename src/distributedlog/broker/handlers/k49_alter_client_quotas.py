"""AlterClientQuotas: `cluster/client_quotas.py` decides."""

from typing import TYPE_CHECKING

from distributedlog.broker.decided import decided
from distributedlog.broker.pending import Pending
from distributedlog.cluster.client_quotas import alter_quotas
from distributedlog.wire.k49_alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: AlterClientQuotasRequest) -> Pending:
    return decided(
        broker,
        context,
        request,
        lambda image: alter_quotas(image, request),
        lambda results: AlterClientQuotasResponse(entries=results),
    )
