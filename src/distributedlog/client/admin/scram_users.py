"""Users whose passwords the cluster checks (KIP-554). A password never leaves this process: it is hashed."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distributedlog.client.errors import InvalidOption, check
from distributedlog.wire import ErrorCode
from distributedlog.wire.k50_describe_user_scram_credentials import (
    DescribedUserName,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from distributedlog.wire.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributedlog.client.cluster_client import ClusterClient

ITERATIONS: Final = 4096
_SALT_BYTES: Final = 32
_MECHANISMS: Final = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
_NAMES: Final = {number: name for name, (number, _) in _MECHANISMS.items()}


@dataclass(frozen=True, slots=True)
class ScramUser:
    """``iterations`` by mechanism, as in ``{"SCRAM-SHA-512": 4096}``."""

    name: str
    iterations: Mapping[str, int]


async def describe_scram_users(client: ClusterClient, users: Sequence[str] = ()) -> list[ScramUser]:
    """Those who have credentials, in the order of their names; all without `users`."""
    request = DescribeUserScramCredentialsRequest([DescribedUserName(name) for name in users] or None)

    async def attempt() -> list[ScramUser]:
        response: DescribeUserScramCredentialsResponse = await client.ask_any(request)
        check(response.error_code, "describe SCRAM users", response.error_message)
        found = []
        for result in response.results:
            if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
                continue
            check(result.error_code, f"describe SCRAM user {result.user}", result.error_message)
            infos = {
                _NAMES.get(info.mechanism, f"mechanism {info.mechanism}"): info.iterations
                for info in result.credential_infos
            }
            found.append(ScramUser(result.user, infos))
        return sorted(found, key=lambda user: user.name)

    return await client.retrying(attempt)


async def set_scram_password(
    client: ClusterClient, user: str, password: str, mechanism: str, iterations: int
) -> None:
    """Make the user, or give it another password."""
    number, hash_name = _mechanism(mechanism)
    salt = secrets.token_bytes(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
    change = ScramCredentialUpsertion(user, number, iterations, salt, salted)
    await _alter(client, AlterUserScramCredentialsRequest(upsertions=[change]), f"set the password of {user}")


async def delete_scram_user(client: ClusterClient, user: str, mechanism: str) -> None:
    """Take the user's credentials of one mechanism away."""
    number, _ = _mechanism(mechanism)
    change = ScramCredentialDeletion(user, number)
    await _alter(client, AlterUserScramCredentialsRequest(deletions=[change]), f"delete SCRAM user {user}")


async def _alter(client: ClusterClient, request: AlterUserScramCredentialsRequest, what: str) -> None:
    response: AlterUserScramCredentialsResponse = await client.ask_controller(request)
    for result in response.results:
        check(result.error_code, what, result.error_message)


def _mechanism(name: str) -> tuple[int, str]:
    if name not in _MECHANISMS:
        raise InvalidOption(f"there is no SCRAM mechanism {name!r}, only {', '.join(_MECHANISMS)}")
    return _MECHANISMS[name]
