"""Listening sockets, bound before anything is served: what is wrong with an address is said at once."""

import errno
import socket
from typing import Final

from distributedlog.server.addresses import Address

#: How often another port is tried, when port 0 found one that the second loopback has not free.
_PORT_ATTEMPTS: Final = 20


class CannotListen(OSError):
    """An address that cannot be bound. The text says which, why, and what to do."""


def bind(address: Address, backlog: int) -> list[socket.socket]:
    """One socket for each numeric address of this one, all with the same port.

    Where a machine has no IPv6, ``localhost`` is the IPv4 loopback alone.
    """
    for _ in range(_PORT_ATTEMPTS):
        sockets: list[socket.socket] = []
        port = address.port
        try:
            for host in address.hosts_to_bind:
                if (bound := _bind_one(host, port, backlog, is_optional=bool(sockets))) is not None:
                    sockets.append(bound)
                    port = bound.getsockname()[1]
        except OSError as error:
            for bound in sockets:
                bound.close()
            if address.port == 0 and sockets and error.errno == errno.EADDRINUSE:
                continue
            raise _explain(address, error) from error
        return sockets
    raise CannotListen(f"found no port that is free on all of {', '.join(address.hosts_to_bind)}")


def _bind_one(host: str, port: int, backlog: int, *, is_optional: bool) -> socket.socket | None:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError:
        if is_optional:
            return None
        raise
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(place)
        bound.listen(backlog)
        bound.setblocking(False)
    except OSError as error:
        bound.close()
        if is_optional and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return None
        raise
    return bound


def _explain(address: Address, error: OSError) -> CannotListen:
    if error.errno == errno.EADDRINUSE:
        hint = "something listens there already: stop it, or take another port with --listen (0 finds one)"
    elif error.errno == errno.EACCES:
        hint = "ports below 1024 need privileges: take another one with --listen"
    elif isinstance(error, socket.gaierror):
        hint = "the name is not known here: give an address of this machine with --listen"
    elif error.errno == errno.EADDRNOTAVAIL:
        hint = "that is no address of this machine; clients may be told another one with advertised.listeners"
    else:
        hint = error.strerror or str(error)
    return CannotListen(f"cannot listen on {address}: {hint}")


def address_of_this_machine() -> str:
    """The address by which other machines most likely reach this one. Nothing is sent, no name looked up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
