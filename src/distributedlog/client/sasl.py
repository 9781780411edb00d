"""[pure] A client's half of SASL: PLAIN (RFC 4616) and SCRAM (RFC 5802) as Kafka takes them."""

import base64
import hashlib
import hmac
from collections.abc import Generator
from typing import Final

from distributedlog.client.errors import AuthenticationFailed

_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_ITERATIONS_MAX: Final = 1_000_000
_NO_CHANNEL_BINDING: Final = "n,,"

Exchange = Generator[bytes, bytes, None]
"""Yields what to send and is sent what came back; it ends when nothing more is to be sent."""


def sasl_exchange(mechanism: str, username: str, password: str, nonce: str) -> Exchange:
    """The messages of one mechanism. AuthenticationFailed when the broker proves to be someone else."""
    if mechanism == "PLAIN":
        return _plain(username, password)
    return _scram(_HASHES[mechanism], username, password, nonce)


def _plain(username: str, password: str) -> Exchange:
    yield f"\0{username}\0{password}".encode()


def _scram(hash_name: str, username: str, password: str, nonce: str) -> Exchange:
    safe_name = username.replace("=", "=3D").replace(",", "=2C")
    first_bare = f"n={safe_name},r={nonce}"
    server_first = (yield (_NO_CHANNEL_BINDING + first_bare).encode()).decode(errors="replace")
    fields = _fields(server_first)
    server_nonce, salt, iterations = fields.get("r", ""), fields.get("s", ""), fields.get("i", "")
    if not server_nonce.startswith(nonce) or not iterations.isdigit():
        raise AuthenticationFailed("the broker's first SCRAM message is not an answer to ours")
    if not 0 < int(iterations) <= _ITERATIONS_MAX:
        raise AuthenticationFailed(
            f"the broker asks for {iterations} rounds of hashing, which is no honest number"
        )

    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), _decoded(salt), int(iterations))
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    stored_key = hashlib.new(hash_name, client_key).digest()
    binding = base64.b64encode(_NO_CHANNEL_BINDING.encode()).decode()
    final_without_proof = f"c={binding},r={server_nonce}"
    message = f"{first_bare},{server_first},{final_without_proof}".encode()
    signature = hmac.digest(stored_key, message, hash_name)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))

    final = f"{final_without_proof},p={base64.b64encode(proof).decode()}"
    server_final = _fields((yield final.encode()).decode(errors="replace"))
    server_key = hmac.digest(salted, b"Server Key", hash_name)
    expected = hmac.digest(server_key, message, hash_name)
    if not hmac.compare_digest(_decoded(server_final.get("v", "")), expected):
        raise AuthenticationFailed("the broker does not know this user's password itself: it is an impostor")


def _fields(message: str) -> dict[str, str]:
    return {part[0]: part[2:] for part in message.split(",") if part[1:2] == "="}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise AuthenticationFailed("the broker's SCRAM message is damaged") from None
