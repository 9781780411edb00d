"""IncrementalAlterConfigs: single entries are set, deleted, appended to or subtracted from."""

from typing import TYPE_CHECKING

from distributedlog.broker.config_rules import BrokerConfigRules
from distributedlog.broker.decided import decided
from distributedlog.broker.pending import Pending
from distributedlog.cluster.alter_configs import ConfigChange, ResourceChanges, alter_configs
from distributedlog.wire.k44_incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: IncrementalAlterConfigsRequest) -> Pending:
    wanted = [
        ResourceChanges(
            (one.resource_type, one.resource_name),
            [ConfigChange(config.name, config.config_operation, config.value) for config in one.configs],
        )
        for one in request.resources
    ]
    return decided(
        broker,
        context,
        request,
        lambda image: alter_configs(
            image, wanted, BrokerConfigRules(broker), validate_only=request.validate_only
        ),
        lambda results: IncrementalAlterConfigsResponse(
            responses=[
                IncrementalAlterConfigsResourceResponse(
                    result.error_code, result.error_message, *result.resource
                )
                for result in results
            ]
        ),
    )
