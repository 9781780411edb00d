"""AlterUserScramCredentials (key 51), version 0, flexible from 0.

Removes SCRAM credentials, and inserts or replaces others (KIP-554). The client salts and hashes:
the password itself never travels. Mechanisms: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512. Each user is
answered once, also where several of the changes name it.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int8, Int16, Int32


@dataclass(slots=True)
class ScramCredentialDeletion:
    name: str = ""
    mechanism: Int8 = 0


@dataclass(slots=True)
class ScramCredentialUpsertion:
    name: str = ""
    mechanism: Int8 = 0
    iterations: Int32 = 0
    salt: bytes = b""
    salted_password: bytes = b""


@dataclass(slots=True)
class AlterUserScramCredentialsRequest:
    deletions: list[ScramCredentialDeletion] = field(default_factory=list)
    upsertions: list[ScramCredentialUpsertion] = field(default_factory=list)


@dataclass(slots=True)
class AlterUserScramCredentialsResult:
    user: str = ""
    error_code: Int16 = 0
    error_message: str | None = ""


@dataclass(slots=True)
class AlterUserScramCredentialsResponse:
    throttle_time_ms: Int32 = 0
    results: list[AlterUserScramCredentialsResult] = field(default_factory=list)
