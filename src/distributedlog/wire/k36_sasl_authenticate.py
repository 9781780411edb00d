"""SaslAuthenticate (key 36), versions 0 to 2, flexible from 2.

Carries one message of the SASL exchange that SaslHandshake (key 17, version 1) has chosen. The
client repeats it until the mechanism is satisfied or the broker answers with an error.

- 1: how long the session lasts before the client must authenticate again (KIP-368)
"""

from dataclasses import dataclass
from typing import Annotated

from distributedlog.wire.schema import Int16, Int64, ignorable, versions


@dataclass(slots=True)
class SaslAuthenticateRequest:
    auth_bytes: bytes = b""


@dataclass(slots=True)
class SaslAuthenticateResponse:
    error_code: Int16 = 0
    error_message: str | None = ""
    auth_bytes: bytes = b""
    session_lifetime_ms: Annotated[Int64, versions("1+"), ignorable] = 0
