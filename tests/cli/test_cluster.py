"""`dlog cluster info`, and what every command says of a cluster that cannot be asked."""

import socket
import threading

import pytest

COMMANDS = [
    ["topic", "list"],
    ["topic", "create", "t"],
    ["produce", "t"],
    ["consume", "t"],
    ["consume", "t", "--group", "g"],
    ["group", "list"],
    ["group", "describe", "g"],
    ["config", "describe", "topic", "t"],
    ["cluster", "info"],
]


def test_the_cluster_and_its_brokers(dlog, broker, topic):
    dlog("topic", "create", topic, "-p", "3")
    first, titles, row = dlog("cluster", "info").lines
    assert first.startswith("Cluster ")
    assert ": 1 broker, " in first
    assert titles.split() == ["broker", "address", "controller", "leads", "replicas"]
    assert row.split()[:3] == ["1", broker.bootstrap_servers, "yes"]

    [found] = dlog("cluster", "info", "--json").json
    [each] = found["brokers"]
    assert f"{each['host']}:{each['port']}" == broker.bootstrap_servers
    assert found["controller"] == each["id"] == 1
    assert found["partitions"] == each["leads"] == each["replicas"] >= 3
    assert found["leaderless_partitions"] == 0


def test_what_is_served(dlog):
    lines = dlog("cluster", "info", "--apis").lines
    titles = lines.index(next(line for line in lines if line.split() == ["key", "api", "from", "to"]))
    assert lines[titles + 1].split()[:3] == ["0", "produce", "0"]
    [found] = dlog("cluster", "info", "--apis", "--json").json
    assert {key: found["apis"][3][key] for key in ("key", "name")} == {"key": 3, "name": "metadata"}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nobody_listens(run, command):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: the port is refused, and stays ours
        address = "{}:{}".format(*unused.getsockname())
        outcome = run(*command, "--bootstrap", address)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        f"dlog: no broker answers: cannot connect to {address}: connection refused. "
        "Start a broker with `dlog start`, or name another with --bootstrap HOST:PORT\n"
    )


def test_a_broker_that_accepts_and_says_nothing(run):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "{}:{}".format(*silent.getsockname())
        outcome = run("topic", "list", "--bootstrap", address, "--timeout", "0.2")
    assert outcome.code == 1
    assert f"{address} did not answer api_versions within 0.2 s" in outcome.err


def test_another_protocol_on_the_port(run):
    with socket.create_server(("127.0.0.1", 0)) as web:

        def serve():
            connection, _ = web.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        address = "{}:{}".format(*web.getsockname())
        outcome = run("topic", "list", "--bootstrap", address)
        thread.join()
    assert outcome.code == 1
    assert "what came back is not the Kafka protocol" in outcome.err
    assert "is there a Kafka broker on this port?" in outcome.err


@pytest.mark.parametrize(
    ("bootstrap", "reason"),
    [
        ("", "no address of a broker was given"),
        ("localhost:99999", "the port must be a number from 1 to 65535"),
        ("localhost:kafka", "the port must be a number from 1 to 65535"),
        (":9092", "it has no host"),
        ("::1:9092", "write an IPv6 number as [number]:port"),
    ],
)
def test_addresses_that_are_none(run, bootstrap, reason):
    outcome = run("topic", "list", "--bootstrap", bootstrap)
    assert (outcome.code, outcome.out) == (2, "")
    assert reason in outcome.err


@pytest.mark.parametrize("timeout", ["0", "-1", "soon", "nan", "1e9"])
def test_timeouts_that_are_none(run, timeout):
    outcome = run("topic", "list", f"--timeout={timeout}")
    assert outcome.code == 2
    assert "number of seconds" in outcome.err
