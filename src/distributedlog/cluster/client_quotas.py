"""Client quotas: which may be set, and which answer a question (KIP-546) [pure].

A quota belongs to an entity: a user, a client id, both together, or an address. A null name stands for all of
a type that have no quota of their own.
"""

import math
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Final

from distributedlog.cluster.image import ClusterImage, QuotaEntity
from distributedlog.cluster.refused import Refused
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k48_describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribedQuotaEntity,
    DescribedQuotaEntry,
    DescribedQuotaValue,
    QuotaFilterComponent,
)
from distributedlog.wire.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlteredQuotaEntity,
    QuotaAlteration,
    QuotaAlterationResult,
    QuotaOperation,
)
from distributedlog.wire.values.metadata_records import ClientQuotaEntity, ClientQuotaRecord, MetadataRecord

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

_CLIENT_KEYS: Final = frozenset(
    {PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE}
)
_IP_KEYS: Final = frozenset({CONNECTION_CREATION_RATE})
_WHOLE_NUMBERS: Final = frozenset({PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, CONNECTION_CREATION_RATE})

EXACT, DEFAULT, ANY = range(3)


def alter_quotas(
    image: ClusterImage, request: AlterClientQuotasRequest
) -> tuple[list[QuotaAlterationResult], list[MetadataRecord]]:
    """One result per entity; an entity's changes are made together or not at all."""
    results: list[QuotaAlterationResult] = []
    records: list[MetadataRecord] = []
    for entry in request.entries:
        try:
            changed = list(_changes(image, entry))
        except Refused as refusal:
            results.append(QuotaAlterationResult(refusal.code, refusal.message, entry.entity))
            continue
        if not request.validate_only:
            records.extend(changed)
        results.append(QuotaAlterationResult(0, None, entry.entity))
    return results, records


def _changes(image: ClusterImage, entry: QuotaAlteration) -> Iterator[ClientQuotaRecord]:
    entity = _checked_entity(entry.entity)
    keys = _IP_KEYS if entity[0][0] == IP else _CLIENT_KEYS
    there = image.client_quotas.get(entity, {})
    parts = [ClientQuotaEntity(*part) for part in entity]
    for operation in entry.ops:
        if operation.key not in keys:
            raise Refused(ErrorCode.INVALID_REQUEST, f"{operation.key[:200]!r} is no quota of such an entity")
        if operation.remove:
            if operation.key in there:
                yield ClientQuotaRecord(parts, operation.key, 0.0, True)
        else:
            _check_value(operation)
            yield ClientQuotaRecord(parts, operation.key, operation.value, False)


def _checked_entity(parts: Sequence[AlteredQuotaEntity]) -> QuotaEntity:
    types = [part.entity_type for part in parts]
    if not types:
        raise Refused(ErrorCode.INVALID_REQUEST, "the entity of a quota cannot be empty")
    _check_types(types)
    for part in parts:
        if part.entity_name == "":
            raise Refused(ErrorCode.INVALID_REQUEST, "the name in a quota's entity cannot be empty")
        if part.entity_type == IP and part.entity_name is not None:
            _check_address(part.entity_name)
    return tuple(sorted((part.entity_type, part.entity_name) for part in parts))


def _check_types(types: Sequence[str]) -> None:
    for entity_type in types:
        if entity_type not in (USER, CLIENT_ID, IP):
            raise Refused(ErrorCode.INVALID_REQUEST, f"there are no quotas of entities {entity_type[:100]!r}")
    if len(set(types)) < len(types):
        raise Refused(ErrorCode.INVALID_REQUEST, "a type stands twice in one entity")
    if IP in types and len(types) > 1:
        raise Refused(ErrorCode.INVALID_REQUEST, "an address does not go together with a user or client id")


def _check_address(text: str) -> None:
    try:
        ip_address(text)
    except ValueError:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{text[:100]!r} is no IP address") from None


def _check_value(operation: QuotaOperation) -> None:
    value = operation.value
    if not math.isfinite(value) or value <= 0:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{operation.key} = {value}: a quota is greater than 0")
    if operation.key in _WHOLE_NUMBERS and (abs(value - round(value)) > 1e-6 or value >= 2**63):
        raise Refused(ErrorCode.INVALID_REQUEST, f"{operation.key} = {value}: expected a whole number")


def find_quotas(image: ClusterImage, request: DescribeClientQuotasRequest) -> list[DescribedQuotaEntry]:
    """All quotas whose entity fits every component; with ``strict`` it has no other parts."""
    for component in request.components:
        if component.entity_type and component.entity_type not in (USER, CLIENT_ID, IP):
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION, f"there are no entities {component.entity_type[:100]!r}"
            )
    _check_types([component.entity_type for component in request.components])
    for component in request.components:
        if component.match_type not in (EXACT, DEFAULT, ANY):
            raise Refused(ErrorCode.INVALID_REQUEST, f"there is no match type {component.match_type}")
        if (component.match_type == EXACT) != (component.match is not None):
            raise Refused(ErrorCode.INVALID_REQUEST, "an exact match names something, other matches nothing")
    return [
        DescribedQuotaEntry(
            [DescribedQuotaEntity(*part) for part in entity],
            [DescribedQuotaValue(key, value) for key, value in quotas.items()],
        )
        for entity, quotas in image.client_quotas.items()
        if _fits(entity, request.components, strict=request.strict)
    ]


def _fits(entity: QuotaEntity, components: Sequence[QuotaFilterComponent], *, strict: bool) -> bool:
    parts = dict(entity)
    if strict and len(parts) != len(components):
        return False
    for component in components:
        if component.entity_type not in parts:
            return False
        name = parts[component.entity_type]
        if component.match_type == EXACT and name != component.match:
            return False
        if component.match_type == DEFAULT and name is not None:
            return False
    return True
