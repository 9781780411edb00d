"""How long a client waits, and what it calls itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Kafka's client settings under their own names.

    ``default_api_timeout_ms`` bounds a whole operation with all its retries, ``request_timeout_ms`` one
    response of one broker.
    """

    client_id: str = "dlog"
    socket_connection_setup_timeout_ms: int = 10_000
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    retry_backoff_ms: int = 50
    retry_backoff_max_ms: int = 1_000
    metadata_max_age_ms: int = 300_000
    response_size_max: int = 256 * 1024 * 1024
