"""Errors of administrators: a class for each thing that goes wrong, and what to do about it in its text."""

from __future__ import annotations

from typing import ClassVar, Final

from distributedlog.client.errors import BrokerError, known_error
from distributedlog.wire import ErrorCode


class AdminError(BrokerError):
    """All of these are BrokerErrors; ``advice`` is what one can do."""

    advice: ClassVar[str] = ""

    @classmethod
    def of(cls, error: BrokerError) -> AdminError:
        told = f"{error.message.rstrip('. ')}. {cls.advice}" if cls.advice else error.message
        made = cls(error.code, error.what, told, is_retriable=error.is_retriable)
        made.__cause__ = error
        return made


class TopicExists(AdminError):
    """There is a topic of this name already."""

    advice = "Choose another name, or delete the topic first"


class TopicNotFound(AdminError):
    """There is no such topic, or no such partition of it."""

    advice = "`list_topics` tells which there are"


class InvalidTopicName(AdminError):
    """A topic cannot be called so."""

    advice = "Use at most 249 letters, digits, dots, underscores and hyphens"


class InvalidPartitions(AdminError):
    """A topic cannot have so many partitions: they can only become more."""

    advice = "Ask for more partitions than there are; for fewer, make another topic"


class InvalidReplicas(AdminError):
    """The cluster has too few brokers for so many replicas, or not those that were named."""

    advice = "`describe_cluster` tells which brokers there are"


class InvalidConfig(AdminError):
    """There is no such configuration, or it cannot have this value."""

    advice = "`describe_config` tells the names and the values"


class PolicyViolation(AdminError):
    """The cluster's owner forbids it."""

    advice = "Ask the owner of the cluster"


class GroupNotFound(AdminError):
    """There is no group of this name."""

    advice = "`list_groups` tells which there are"


class GroupNotEmpty(AdminError):
    """The group has members, and what was asked for can only be done to an empty one."""

    advice = "Stop its consumers first"


class GroupReadsTopic(AdminError):
    """The group is subscribed to the topic: its offsets of it cannot be deleted."""

    advice = "Stop its consumers, or have them subscribe to other topics, first"


class NotAuthorized(AdminError):
    """The user may not do this."""

    advice = "Use another user, or have the cluster's owner grant it: see `create_acls`"


class SecurityDisabled(AdminError):
    """The cluster has no authoriser, so there are no rules."""

    advice = "Set authorizer.class.name of the brokers"


class UserNotFound(AdminError):
    """The user has no SCRAM credentials of this mechanism."""

    advice = "`describe_scram_users` tells which there are"


class UnacceptableCredential(AdminError):
    """Too few or too many iterations, or no user name."""

    advice = "Use from 4096 to 16384 iterations, and a name that is not empty"


class TransactionNotFound(AdminError):
    """There is no such transactional id."""

    advice = "`list_transactions` tells which there are"


class NoOpenTransaction(AdminError):
    """There is nothing to abort."""

    advice = "`describe_transaction` tells its state"


class OffsetNotThere(AdminError):
    """The partition does not reach so far, or begins later."""

    advice = "`list_offsets` tells where it begins and ends"


class NoLeaderElected(AdminError):
    """None of the replicas that may lead is alive."""

    advice = "Start their brokers; as the last resort, and with a loss of records, elect uncleanly"


class NotMoving(AdminError):
    """The partition is not on its way to other brokers."""

    advice = "`list_reassignments` tells which are"


_BY_CODE: Final = {
    ErrorCode.TOPIC_ALREADY_EXISTS: TopicExists,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: TopicNotFound,
    ErrorCode.UNKNOWN_TOPIC_ID: TopicNotFound,
    ErrorCode.INVALID_TOPIC_EXCEPTION: InvalidTopicName,
    ErrorCode.INVALID_PARTITIONS: InvalidPartitions,
    ErrorCode.INVALID_REPLICATION_FACTOR: InvalidReplicas,
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: InvalidReplicas,
    ErrorCode.INVALID_CONFIG: InvalidConfig,
    ErrorCode.POLICY_VIOLATION: PolicyViolation,
    ErrorCode.GROUP_ID_NOT_FOUND: GroupNotFound,
    ErrorCode.NON_EMPTY_GROUP: GroupNotEmpty,
    ErrorCode.UNKNOWN_MEMBER_ID: GroupNotEmpty,  # a commit from outside of a group that has members
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: GroupReadsTopic,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: NotAuthorized,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: NotAuthorized,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: NotAuthorized,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: NotAuthorized,
    ErrorCode.SECURITY_DISABLED: SecurityDisabled,
    ErrorCode.RESOURCE_NOT_FOUND: UserNotFound,
    ErrorCode.UNACCEPTABLE_CREDENTIAL: UnacceptableCredential,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: TransactionNotFound,
    ErrorCode.INVALID_TXN_STATE: NoOpenTransaction,
    ErrorCode.OFFSET_OUT_OF_RANGE: OffsetNotThere,
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: NoLeaderElected,
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: NoLeaderElected,
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: NotMoving,
}


def admin_error(error: BrokerError) -> BrokerError:
    """The error of a class of its own, where its code has one."""
    known = known_error(error.code)
    kind = _BY_CODE.get(known) if known is not None else None
    return error if kind is None or isinstance(error, AdminError) else kind.of(error)
