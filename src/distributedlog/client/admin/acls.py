"""Access rules: who may, or may not, do what to which resource from where."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from distributedlog.client.errors import check
from distributedlog.wire.k29_describe_acls import DescribeAclsRequest, DescribeAclsResponse
from distributedlog.wire.k30_create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from distributedlog.wire.k31_delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributedlog.client.cluster_client import ClusterClient

ANY_HOST: Final = "*"


class AclResource(IntEnum):
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class AclPattern(IntEnum):
    """``MATCH`` in a filter finds whatever rule applies to a name: literal, prefixed or for all."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(IntEnum):
    ANY = 1
    DENY = 2
    ALLOW = 3


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """One rule. ``principal`` is written ``User:ann``; the name ``*`` stands for all of a kind."""

    resource: AclResource
    name: str
    principal: str
    operation: AclOperation
    permission: AclPermission = AclPermission.ALLOW
    host: str = ANY_HOST
    pattern: AclPattern = AclPattern.LITERAL


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Finds rules; what is left out matches anything."""

    resource: AclResource = AclResource.ANY
    name: str | None = None
    principal: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY
    host: str | None = None
    pattern: AclPattern = AclPattern.ANY


ALL_ACLS: Final = AclFilter()


async def describe_acls(client: ClusterClient, wanted: AclFilter) -> list[Acl]:
    """Sorted by resource."""
    request = DescribeAclsRequest(
        wanted.resource,
        wanted.name,
        wanted.pattern,
        wanted.principal,
        wanted.host,
        wanted.operation,
        wanted.permission,
    )

    async def attempt() -> list[Acl]:
        response: DescribeAclsResponse = await client.ask_any(request)
        check(response.error_code, "describe access rules", response.error_message)
        return sorted(
            _acl(each.resource_type, each.resource_name, each.pattern_type, rule)
            for each in response.resources
            for rule in each.acls
        )

    return await client.retrying(attempt)


async def create_acls(client: ClusterClient, acls: Sequence[Acl]) -> None:
    """Add rules; one that is there already is no error. The first that is refused raises."""
    request = CreateAclsRequest(
        [
            AclCreation(
                acl.resource,
                acl.name,
                acl.pattern,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission,
            )
            for acl in acls
        ]
    )

    async def attempt() -> None:
        response: CreateAclsResponse = await client.ask_controller(request)
        for acl, result in zip(acls, response.results, strict=True):
            what = f"create the rule for {acl.principal} on {acl.resource.name.lower()} {acl.name}"
            check(result.error_code, what, result.error_message)

    await client.retrying(attempt)


async def delete_acls(client: ClusterClient, filters: Sequence[AclFilter]) -> list[Acl]:
    """Delete every rule that one of the filters matches; those are returned."""
    request = DeleteAclsRequest(
        [
            DeleteAclsFilter(
                each.resource,
                each.name,
                each.pattern,
                each.principal,
                each.host,
                each.operation,
                each.permission,
            )
            for each in filters
        ]
    )
    response: DeleteAclsResponse = await client.ask_controller(request)
    found: set[Acl] = set()
    for result in response.filter_results:
        check(result.error_code, "delete access rules", result.error_message)
        for match in result.matching_acls:
            check(match.error_code, f"delete a rule for {match.principal}", match.error_message)
            found.add(_acl(match.resource_type, match.resource_name, match.pattern_type, match))
    return sorted(found)


def _acl(resource: int, name: str, pattern: int, rule: object) -> Acl:
    return Acl(
        AclResource(resource),
        name,
        rule.principal,  # type: ignore[attr-defined]
        AclOperation(rule.operation),  # type: ignore[attr-defined]
        AclPermission(rule.permission_type),  # type: ignore[attr-defined]
        rule.host,  # type: ignore[attr-defined]
        AclPattern(pattern),
    )
