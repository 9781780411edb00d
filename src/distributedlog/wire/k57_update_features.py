"""UpdateFeatures (key 57), versions 0 to 2, flexible from 0.

Raises or lowers the level of features for the whole cluster (KIP-584). Level 0 removes a feature.

- 1: a dry run, and a kind of upgrade in place of the downgrade flag: 1 upgrade, 2 safe downgrade, 3
  unsafe downgrade (KIP-778)
- 2: all or nothing, so that one error code speaks for all features (KIP-1022)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int8, Int16, Int32, ignorable, versions


@dataclass(slots=True)
class FeatureUpdate:
    feature: str = ""
    max_version_level: Int16 = 0
    allow_downgrade: Annotated[bool, versions("0")] = False
    upgrade_type: Annotated[Int8, versions("1+")] = 1


@dataclass(slots=True)
class UpdateFeaturesRequest:
    timeout_ms: Int32 = 60_000
    feature_updates: list[FeatureUpdate] = field(default_factory=list)
    validate_only: Annotated[bool, versions("1+")] = False


@dataclass(slots=True)
class FeatureUpdateResult:
    feature: str = ""
    error_code: Int16 = 0
    error_message: str | None = ""


@dataclass(slots=True)
class UpdateFeaturesResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = ""
    results: Annotated[list[FeatureUpdateResult], versions("0-1"), ignorable] = field(default_factory=list)
