"""DescribeClientQuotas (key 48), versions 0 to 1, flexible from 1.

Finds the quotas of users, client ids and addresses (KIP-546). Match types: 0 the exact name in
``match``, 1 the default entity, 2 any entity that has a name. With ``strict`` an entity may have no
component beside those asked for. Null ``entries`` go with an error.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int8, Int16, Int32


@dataclass(slots=True)
class QuotaFilterComponent:
    entity_type: str = ""
    match_type: Int8 = 0
    match: str | None = ""


@dataclass(slots=True)
class DescribeClientQuotasRequest:
    components: list[QuotaFilterComponent] = field(default_factory=list)
    strict: bool = False


@dataclass(slots=True)
class DescribedQuotaEntity:
    entity_type: str = ""
    entity_name: str | None = ""


@dataclass(slots=True)
class DescribedQuotaValue:
    key: str = ""
    value: float = 0.0


@dataclass(slots=True)
class DescribedQuotaEntry:
    entity: list[DescribedQuotaEntity] = field(default_factory=list)
    values: list[DescribedQuotaValue] = field(default_factory=list)


@dataclass(slots=True)
class DescribeClientQuotasResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = ""
    entries: list[DescribedQuotaEntry] | None = field(default_factory=list)
