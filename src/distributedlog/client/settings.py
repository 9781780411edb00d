"""How long a client waits, who it says it is, and what it calls itself."""

from typing import TYPE_CHECKING

from distributedlog.client.options import Options, option

if TYPE_CHECKING:
    import ssl

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class ClientSettings(Options):
    """Kafka's client settings under their own names.

    ``default_api_timeout_ms`` bounds a whole operation with all its retries, ``request_timeout_ms`` one
    response of one broker. Secured listeners need ``security_protocol``; an ``ssl_context`` may say which
    certificates count, by default those of the system do.
    """

    client_id: str = "dlog"
    socket_connection_setup_timeout_ms: int = option(default=10_000, least=1)
    request_timeout_ms: int = option(default=30_000, least=1)
    default_api_timeout_ms: int = option(default=60_000, least=1)
    retry_backoff_ms: int = option(default=50, least=0)
    retry_backoff_max_ms: int = option(default=1_000, least=0)
    metadata_max_age_ms: int = option(default=300_000, least=1)
    response_size_max: int = option(default=256 * 1024 * 1024, least=1024)
    security_protocol: str = option(default="PLAINTEXT", choices=SECURITY_PROTOCOLS)
    ssl_context: "ssl.SSLContext | None" = None
    sasl_mechanism: str = option(default="PLAIN", choices=SASL_MECHANISMS)
    sasl_username: str | None = None
    sasl_password: str | None = None
