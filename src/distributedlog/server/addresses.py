"""Where to listen and what clients are told: `listeners` and `advertised.listeners`.

A listener on `localhost` listens on the IPv4 and on the IPv6 loopback, because a client may resolve the name
to either. A listener on all addresses advertises to each client the address by which that client came.
"""

import re
import socket
from dataclasses import dataclass
from typing import Final

from distributedlog.log.errors import InvalidConfig

DEFAULT_NAME: Final = "PLAINTEXT"
DEFAULT_PORT: Final = 9092
EVERY_ADDRESS: Final = ("", "0.0.0.0", "::")
_OTHER_PROTOCOLS: Final = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LISTENER: Final = re.compile(
    r"((?P<name>[A-Za-z0-9_]+)://)?(\[(?P<address>[0-9a-fA-F:.%a-z]+)\]|(?P<host>[^\[\]/:\s]*))(:(?P<port>[0-9]{1,5}))?"
)


@dataclass(frozen=True, slots=True)
class Address:
    """One door. `name` is Kafka's listener name."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_every_address(self) -> bool:
        return self.host in EVERY_ADDRESS

    @property
    def hosts_to_bind(self) -> tuple[str, ...]:
        """The numeric addresses, or the name, to bind. ``localhost`` is two of them."""
        if self.host == "localhost":
            return ("127.0.0.1", "::1")
        if self.host == "":
            return ("0.0.0.0", "::")
        return (self.host,)


def parse_address(key: str, text: str) -> Address:
    """``HOST:PORT``, ``NAME://HOST:PORT``, ``[IPv6]:PORT``; InvalidConfig says what is wrong."""
    match = _LISTENER.fullmatch(text.strip())
    if match is None:
        raise _refusal(key, text, "expected HOST:PORT, NAME://HOST:PORT or NAME://[IPv6 address]:PORT")
    port = DEFAULT_PORT if match["port"] is None else int(match["port"])
    if port > 65535:
        raise _refusal(key, text, f"there is no port {port}")
    host = match["host"] if match["address"] is None else match["address"]
    if match["address"] is not None:
        try:
            socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
        except OSError:
            raise _refusal(key, text, f"{host} is no IPv6 address") from None
    name = (match["name"] or DEFAULT_NAME).upper()
    if name in _OTHER_PROTOCOLS:
        raise _refusal(key, text, f"{name} is not served yet; a listener of any other name speaks plain text")
    return Address(name, host, port)


def parse_listeners(key: str, texts: tuple[str, ...]) -> list[Address]:
    """All doors of the node; each of its own."""
    addresses = [parse_address(key, text) for text in texts]
    if not addresses:
        raise _refusal(key, "", "a broker needs one listener at least")
    places = [(address.host, address.port) for address in addresses if address.port]
    if len(set(places)) < len(places):
        raise _refusal(key, ",".join(texts), "two of them have the same address")
    if len({address.name for address in addresses}) < len(addresses):
        raise _refusal(key, ",".join(texts), "give each a name of its own, as in INTERNAL://HOST:PORT")
    return addresses


def parse_advertised(texts: tuple[str, ...]) -> list[Address]:
    """What clients are told; empty when nothing was said."""
    key = "advertised.listeners"
    addresses = [parse_address(key, text) for text in texts]
    for address, text in zip(addresses, texts, strict=True):
        if address.is_every_address or address.port == 0:
            raise _refusal(key, text, "clients cannot connect to that; give the name and port they reach")
    return addresses


def _refusal(key: str, text: str, reason: str) -> InvalidConfig:
    return InvalidConfig(key, text, f"{key} = {text!r} is not possible: {reason}")
