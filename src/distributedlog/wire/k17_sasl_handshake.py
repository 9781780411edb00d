"""SaslHandshake (key 17), versions 0 and 1, never flexible.

Chooses the SASL mechanism; the answer lists those that the broker offers. Old clients negotiate this
API wrongly (KAFKA-9577), which is why it has no flexible version.

- 0: the mechanism's own bytes follow, bare on the connection
- 1: they travel in SaslAuthenticate requests
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16


@dataclass(slots=True)
class SaslHandshakeRequest:
    mechanism: str = ""


@dataclass(slots=True)
class SaslHandshakeResponse:
    error_code: Int16 = 0
    mechanisms: list[str] = field(default_factory=list)
