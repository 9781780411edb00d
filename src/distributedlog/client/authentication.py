"""[io] Proving to a broker who the client is, before anything else is asked of it (KIP-152)."""

import secrets
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final

from distributedlog.client.errors import AuthenticationFailed, InvalidOption
from distributedlog.client.sasl import sasl_exchange
from distributedlog.client.settings import ClientSettings
from distributedlog.wire import ErrorCode
from distributedlog.wire.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from distributedlog.wire.k36_sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

_NONCE_BYTES: Final = 24

Ask = Callable[[Any], Awaitable[Any]]


def tls_context(settings: ClientSettings) -> ssl.SSLContext | None:
    """What encrypts the connection; None where nothing does."""
    if not settings.security_protocol.endswith("SSL"):
        return None
    return settings.ssl_context or ssl.create_default_context()


async def authenticate(ask: Ask, settings: ClientSettings, broker: str) -> None:
    """Do what ``security_protocol`` asks for; `ask` sends one request of this connection."""
    if not settings.security_protocol.startswith("SASL"):
        return
    if settings.sasl_username is None or settings.sasl_password is None:
        raise InvalidOption(f"{settings.security_protocol} needs sasl_username and sasl_password")
    mechanism = settings.sasl_mechanism
    handshake: SaslHandshakeResponse = await ask(SaslHandshakeRequest(mechanism))
    if handshake.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(handshake.mechanisms) or "none"
        raise AuthenticationFailed(f"{broker} does not take sasl_mechanism {mechanism!r}; it takes {offered}")
    if handshake.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        raise AuthenticationFailed(
            f"{broker} does not authenticate clients on this port: use security_protocol "
            f"{settings.security_protocol.removeprefix('SASL_')!r}, or another port"
        )
    exchange = sasl_exchange(
        mechanism, settings.sasl_username, settings.sasl_password, secrets.token_urlsafe(_NONCE_BYTES)
    )
    message = next(exchange)
    while True:
        answer: SaslAuthenticateResponse = await ask(SaslAuthenticateRequest(message))
        if answer.error_code:
            raise AuthenticationFailed(
                f"{broker} refused user {settings.sasl_username!r}: "
                f"{answer.error_message or 'authentication failed'}. Check sasl_username and sasl_password"
            )
        try:
            message = exchange.send(answer.auth_bytes)
        except StopIteration:
            return
