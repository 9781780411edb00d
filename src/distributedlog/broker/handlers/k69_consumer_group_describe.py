"""ConsumerGroupDescribe: epochs, members and assignments of groups of the consumer protocol (KIP-848)."""

from typing import TYPE_CHECKING, Any

from distributedlog.broker.handlers.k15_describe_groups import GROUP_OPERATIONS
from distributedlog.wire import ErrorCode
from distributedlog.wire.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedConsumerGroup,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: ConsumerGroupDescribeRequest) -> Any:
    def response_of(groups: list[DescribedConsumerGroup]) -> ConsumerGroupDescribeResponse:
        if request.include_authorized_operations:
            for group in groups:
                if not group.error_code:
                    group.authorized_operations = GROUP_OPERATIONS
        return ConsumerGroupDescribeResponse(groups=groups)

    return broker.groups.ask_each(
        context,
        request.group_ids,
        name_of=lambda group_id: group_id,
        request_of=ConsumerGroupDescribeRequest,
        rows_of=lambda response: response.groups,
        refuse=_refused,
        response_of=response_of,
    )


def _refused(group_id: str, error: ErrorCode) -> DescribedConsumerGroup:
    return DescribedConsumerGroup(error_code=error, error_message=error.message, group_id=group_id)
