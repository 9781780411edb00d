"""Binding: names that resolve twice, ports that are taken, and what is said then."""

import asyncio
import socket

import pytest
from tests.server.harness import client_of, run, serving

from distributedlog.server.addresses import Address
from distributedlog.server.admission import Admission
from distributedlog.server.sockets import CannotListen, address_of_this_machine, bind
from distributedlog.wire.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

HEARTBEAT = 12


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_localhost_is_reached_by_whatever_it_resolves_to():
    """TRAPS: `localhost` may resolve to `::1` while a listener has IPv4 only."""

    async def scenario():
        async with serving(lambda *_: HeartbeatResponse(), host="localhost") as listener:
            for host in ["localhost", "127.0.0.1", *(["::1"] if has_ipv6() else [])]:
                async with client_of(listener, host) as client:
                    client.send(HEARTBEAT, 4, 1, HeartbeatRequest())
                    assert (await client.response(HEARTBEAT, 4))[0] == 1

    run(scenario())


def test_no_host_is_every_address():
    async def scenario():
        async with serving(lambda *_: HeartbeatResponse(), host="") as listener:
            for host in ["127.0.0.1", *(["::1"] if has_ipv6() else [])]:
                async with client_of(listener, host) as client:
                    client.send(HEARTBEAT, 4, 1, HeartbeatRequest())
                    await client.response(HEARTBEAT, 4)

    run(scenario())


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("127.0.0.1", "something listens there already"),
        ("198.51.100.7", "that is no address of this machine"),
        ("no-such-host.invalid", "the name is not known here"),
    ],
)
def test_an_address_that_cannot_be_bound_is_explained(host, reason):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = Address("PLAINTEXT", host, taken.getsockname()[1])
        with pytest.raises(CannotListen, match=f"cannot listen on {address}: {reason}"):
            bind(address, 10)


def test_both_loopbacks_get_the_same_port():
    sockets = bind(Address("PLAINTEXT", "localhost", 0), 10)
    assert len({bound.getsockname()[1] for bound in sockets}) == 1
    for bound in sockets:
        bound.close()


def test_the_address_of_this_machine_can_be_bound():
    with socket.create_server((address_of_this_machine(), 0)):
        pass


def test_admission_counts_per_host_and_forgets_those_that_left():
    admission = Admission()
    for host in ("a", "a", "b"):
        assert admission.refusal(host, 10, 2) is None
        admission.enter(host)
    assert "from a already" in admission.refusal("a", 10, 2)
    assert admission.refusal("b", 10, 2) is None
    assert "there are 3 connections" in admission.refusal("b", 3, 2)
    admission.leave("a")
    assert admission.refusal("a", 3, 2) is None


def test_a_rate_lets_a_burst_pass_and_then_spaces_what_comes():
    admission = Admission()
    delays = [admission.delay_seconds(100.0, 10) for _ in range(15)]
    assert delays[:10] == [0] * 10
    assert delays[10:] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert admission.delay_seconds(200.0, 10) == 0


def test_a_stopped_listener_can_be_bound_again_at_once():
    async def scenario():
        async with serving(lambda *_: HeartbeatResponse()) as listener, client_of(listener) as client:
            client.send(HEARTBEAT, 4, 1, HeartbeatRequest())
            await client.response(HEARTBEAT, 4)
            await listener.drain(1)
        for bound in bind(listener.address, 10):
            bound.close()
        with pytest.raises(ConnectionError):
            await asyncio.open_connection("127.0.0.1", listener.address.port)

    run(scenario())
