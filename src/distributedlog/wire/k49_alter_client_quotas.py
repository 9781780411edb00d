"""AlterClientQuotas (key 49), versions 0 to 1, flexible from 1.

Sets and removes quotas of users, client ids and addresses (KIP-546). An entity may have several
components, as a client id of one user; a null ``entity_name`` means the default of that type.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16, Int32


@dataclass(slots=True)
class AlteredQuotaEntity:
    entity_type: str = ""
    entity_name: str | None = ""


@dataclass(slots=True)
class QuotaOperation:
    key: str = ""
    value: float = 0.0
    remove: bool = False


@dataclass(slots=True)
class QuotaAlteration:
    entity: list[AlteredQuotaEntity] = field(default_factory=list)
    ops: list[QuotaOperation] = field(default_factory=list)


@dataclass(slots=True)
class AlterClientQuotasRequest:
    entries: list[QuotaAlteration] = field(default_factory=list)
    validate_only: bool = False


@dataclass(slots=True)
class QuotaAlterationResult:
    error_code: Int16 = 0
    error_message: str | None = ""
    entity: list[AlteredQuotaEntity] = field(default_factory=list)


@dataclass(slots=True)
class AlterClientQuotasResponse:
    throttle_time_ms: Int32 = 0
    entries: list[QuotaAlterationResult] = field(default_factory=list)
