"""Quotas: how much users, client ids and addresses may take (KIP-546)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distributedlog.client.errors import check
from distributedlog.wire.k48_describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    QuotaFilterComponent,
)
from distributedlog.wire.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredQuotaEntity,
    QuotaAlteration,
    QuotaOperation,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from distributedlog.client.cluster_client import ClusterClient

_EXACTLY: Final = 0
_DEFAULT: Final = 1
_ANY_NAME: Final = 2


@dataclass(frozen=True, slots=True)
class Quota:
    """``entity`` names by kind (``user``, ``client-id``, ``ip``), None for the default of a kind."""

    entity: Mapping[str, str | None]
    values: Mapping[str, float]


async def describe_quotas(
    client: ClusterClient, entity: Mapping[str, str | None], *, is_strict: bool
) -> list[Quota]:
    """Those whose entity has all of these components; ``*`` is any name, None the default."""
    components = [QuotaFilterComponent(kind, *_match(name)) for kind, name in entity.items()]

    async def attempt() -> list[Quota]:
        request = DescribeClientQuotasRequest(components, is_strict)
        response: DescribeClientQuotasResponse = await client.ask_any(request)
        check(response.error_code, "describe quotas", response.error_message)
        found = [
            Quota(
                {part.entity_type: part.entity_name for part in entry.entity},
                {value.key: value.value for value in entry.values},
            )
            for entry in response.entries or ()
        ]
        return sorted(found, key=lambda quota: sorted((k, v or "") for k, v in quota.entity.items()))

    return await client.retrying(attempt)


async def alter_quota(
    client: ClusterClient,
    entity: Mapping[str, str | None],
    values: Mapping[str, float | None],
    *,
    validate_only: bool,
) -> None:
    """Set some quotas of one entity; None takes one away."""
    alteration = QuotaAlteration(
        [AlteredQuotaEntity(kind, name) for kind, name in entity.items()],
        [
            QuotaOperation(key, 0.0 if value is None else value, remove=value is None)
            for key, value in values.items()
        ],
    )
    request = AlterClientQuotasRequest([alteration], validate_only)
    response: AlterClientQuotasResponse = await client.ask_controller(request)
    named = ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in entity.items())
    for entry in response.entries:
        check(entry.error_code, f"alter the quotas of {named}", entry.error_message)


def _match(name: str | None) -> tuple[int, str | None]:
    if name is None:
        return _DEFAULT, None
    return (_ANY_NAME, None) if name == "*" else (_EXACTLY, name)
