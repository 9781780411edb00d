"""AlterConfigs: the old way, which replaces all of a resource's configuration."""

from typing import TYPE_CHECKING

from distributedlog.broker.config_rules import BrokerConfigRules
from distributedlog.broker.decided import decided
from distributedlog.broker.pending import Pending
from distributedlog.cluster.alter_configs import SET, ConfigChange, ResourceChanges, alter_configs
from distributedlog.wire.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: AlterConfigsRequest) -> Pending:
    wanted = [
        ResourceChanges(
            (one.resource_type, one.resource_name),
            [ConfigChange(config.name, SET, config.value) for config in one.configs],
            replaces_all=True,
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
        lambda results: AlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(result.error_code, result.error_message, *result.resource)
                for result in results
            ]
        ),
    )
