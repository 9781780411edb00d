"""DescribeUserScramCredentials (key 50), version 0, flexible from 0.

Tells which SCRAM mechanisms users have credentials for, and with how many iterations; salts and
keys never leave the broker (KIP-554). Null or empty ``users`` ask for all. Mechanisms: 1
SCRAM-SHA-256, 2 SCRAM-SHA-512.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int8, Int16, Int32


@dataclass(slots=True)
class DescribedUserName:
    name: str = ""


@dataclass(slots=True)
class DescribeUserScramCredentialsRequest:
    users: list[DescribedUserName] | None = field(default_factory=list)


@dataclass(slots=True)
class ScramCredentialInfo:
    mechanism: Int8 = 0
    iterations: Int32 = 0


@dataclass(slots=True)
class DescribeUserScramCredentialsResult:
    user: str = ""
    error_code: Int16 = 0
    error_message: str | None = ""
    credential_infos: list[ScramCredentialInfo] = field(default_factory=list)


@dataclass(slots=True)
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = ""
    results: list[DescribeUserScramCredentialsResult] = field(default_factory=list)
