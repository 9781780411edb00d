"""What is told to clients when the records of their requests could not be written."""

from copy import copy
from typing import Any

from distributedlog.coordination import Reply, client_error
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k08_offset_commit import OffsetCommitResponse
from distributedlog.wire.k11_join_group import JoinGroupResponse
from distributedlog.wire.k14_sync_group import SyncGroupResponse
from distributedlog.wire.k28_txn_offset_commit import TxnOffsetCommitResponse
from distributedlog.wire.k42_delete_groups import DeletableGroupResult, DeleteGroupsResponse
from distributedlog.wire.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatResponse


def failed_reply(reply: Reply, append_error: ErrorCode) -> Reply:
    """The reply in place of ``reply``. What was an error anyway stays that error."""
    error = client_error(append_error)
    response = reply.response
    match response:
        case OffsetCommitResponse() | TxnOffsetCommitResponse():
            return Reply(reply.token, _failed_commit(response, error))
        case DeleteGroupsResponse():
            results = [DeletableGroupResult(r.group_id, r.error_code or error) for r in response.results]
            return Reply(reply.token, DeleteGroupsResponse(results=results))
        case JoinGroupResponse():
            if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                response = JoinGroupResponse(error_code=error)
        case SyncGroupResponse():
            if not response.error_code:
                response = SyncGroupResponse(error_code=error)
        case ConsumerGroupHeartbeatResponse():
            if not response.error_code:
                response = ConsumerGroupHeartbeatResponse(error_code=error, error_message=error.message)
        case _ if hasattr(response, "error_code") and not response.error_code:
            response = copy(response)
            response.error_code = error
    return Reply(reply.token, response)


def _failed_commit(response: Any, error: ErrorCode) -> Any:
    failed = copy(response)
    failed.topics = []
    for topic in response.topics:
        failed_topic = copy(topic)
        failed_topic.partitions = []
        for partition in topic.partitions:
            failed_partition = copy(partition)
            failed_partition.error_code = partition.error_code or error
            failed_topic.partitions.append(failed_partition)
        failed.topics.append(failed_topic)
    return failed
