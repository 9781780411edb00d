"""Where to find a cluster first: ``host:port,host:port``, as Kafka's clients take it."""

from typing import Final, NamedTuple

from distributedlog.client.errors import InvalidBootstrap

DEFAULT_PORT: Final = 9092
PORT_MAX: Final = 65_535


class Address(NamedTuple):
    """A host's name or number, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_bootstrap(text: str) -> tuple[Address, ...]:
    """The addresses of a comma-separated list; a port may be left out, an IPv6 number stands in brackets."""
    addresses = tuple(_parse_address(part.strip()) for part in text.split(",") if part.strip())
    if not addresses:
        raise InvalidBootstrap("no address of a broker was given; write one as host:port")
    return addresses


def _parse_address(text: str) -> Address:
    _, separator, without_protocol = text.rpartition("://")  # listeners are often copied with PLAINTEXT://
    rest = without_protocol if separator else text
    if rest.startswith("["):
        host, bracket, port_text = rest[1:].partition("]")
        if not bracket or (port_text and not port_text.startswith(":")):
            raise InvalidBootstrap(f"{text!r} is no address: write an IPv6 number as [number]:port")
        port_text = port_text[1:]
    elif rest.count(":") > 1:
        raise InvalidBootstrap(f"{text!r} is no address: write an IPv6 number as [number]:port")
    else:
        host, _, port_text = rest.partition(":")
    if not host:
        raise InvalidBootstrap(f"{text!r} is no address: it has no host; write it as host:port")
    if not port_text:
        return Address(host, DEFAULT_PORT)
    if not (port_text.isascii() and port_text.isdigit() and 0 < int(port_text) <= PORT_MAX):
        raise InvalidBootstrap(f"{text!r} is no address: the port must be a number from 1 to {PORT_MAX}")
    return Address(host, int(port_text))
