"""Who asks: what a handler may know about the request beside its message."""

from dataclasses import dataclass


@dataclass(slots=True)
class Client:
    """One connection's other end. ``software_name`` and version come with its ApiVersions request."""

    connection_id: int
    host: str
    port: int
    #: Name of the listener by which it came.
    listener: str = "PLAINTEXT"
    principal: str = "User:ANONYMOUS"
    software_name: str = "unknown"
    software_version: str = "unknown"


@dataclass(slots=True)
class RequestContext:
    """One request's circumstances. ``received_ms`` is the broker's clock when its last byte was there."""

    client: Client
    client_id: str
    api_key: int
    version: int
    received_ms: int
