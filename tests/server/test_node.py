"""A whole node with a real broker: served over sockets, stopped in order, started again."""

import asyncio
import json
import logging
import os
import signal

import pytest
from tests.server.harness import RawClient, run
from tests.server.processes import Client, dlog_start, eventually

from distributedlog.log.directory import CLEAN_SHUTDOWN_NAME
from distributedlog.records import decode_batch, encode_batch
from distributedlog.server.node import start_node
from distributedlog.server.settings import settings_of
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic
from distributedlog.wire.k18_api_versions import ApiVersionsRequest

PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
LISTEN = ("--listen", "127.0.0.1:0")


def make_topic(client, topic):
    """Auto-creation, as every client does it: ask until there is a leader."""

    def ask():
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
        [found] = client.ask(METADATA, 9, request).topics
        return found.error_code == 0 and found.partitions

    return eventually(ask)


def produce(client, topic, *values):
    batch = encode_batch([(1_700_000_000_000, None, value, ()) for value in values])
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch))])
    response = client.ask(PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]))
    [partition] = response.responses[0].partition_responses
    assert partition.error_code == 0, partition
    return partition.base_offset


def fetch(client, topic, offset=0):
    partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=10_000_000)
    request = FetchRequest(
        max_wait_ms=1000,
        min_bytes=1,
        max_bytes=10_000_000,
        topics=[FetchTopic(topic, partitions=[partition])],
    )
    [found] = client.ask(FETCH, 11, request).responses[0].partitions
    assert found.error_code == 0
    return [record.value for record in decode_batch(found.records)]


def test_the_first_line_says_ready_and_where_and_what_is_acknowledged_survives(tmp_path):
    with dlog_start(*LISTEN, cwd=tmp_path) as process:
        process.wait_ready()
        with Client(process.port) as client:
            make_topic(client, "t")
            assert produce(client, "t", b"one", b"two") == 0
            assert fetch(client, "t") == [b"one", b"two"]
        process.popen.send_signal(signal.SIGTERM)
        code, stdout, stderr = process.end()
        assert (code, stdout) == (0, "")
        messages = [json.loads(line)["message"] for line in stderr.splitlines()]
        assert messages[-1] == "stopped"
    assert (tmp_path / "dlog-data" / CLEAN_SHUTDOWN_NAME).exists()
    with dlog_start(*LISTEN, cwd=tmp_path) as process:
        process.wait_ready()
        with Client(process.port) as client:
            assert fetch(client, "t") == [b"one", b"two"]
            assert produce(client, "t", b"three") == 2
        process.popen.send_signal(signal.SIGINT)
        assert process.end()[0] == 0


def test_a_killed_node_keeps_what_it_acknowledged(tmp_path):
    with dlog_start(*LISTEN, cwd=tmp_path) as process:
        process.wait_ready()
        with Client(process.port) as client:
            make_topic(client, "t")
            produce(client, "t", b"one")
        process.popen.kill()
    with dlog_start(*LISTEN, cwd=tmp_path) as process, Client(process.wait_ready().port) as client:
        assert fetch(client, "t") == [b"one"]


def test_stopping_does_not_wait_for_a_fetch_that_waits(tmp_path):
    with dlog_start(*LISTEN, cwd=tmp_path) as process, Client(process.wait_ready().port) as client:
        make_topic(client, "t")
        partition = FetchPartition(0, fetch_offset=0, partition_max_bytes=1000)
        client.send(
            FETCH,
            11,
            FetchRequest(
                max_wait_ms=2**31 - 1, min_bytes=1, topics=[FetchTopic("t", partitions=[partition])]
            ),
        )
        process.popen.send_signal(signal.SIGTERM)
        assert process.end()[0] == 0


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "reason"),
    [
        (["--set", "num.partition=3"], {}, 2, "did you mean 'num.partitions'?"),
        (["--set", "num.partitions"], {}, 2, "expected NAME=VALUE"),
        (["--config", "missing.toml"], {}, 2, "there is no file missing.toml"),
        ([], {"DLOG_LOG_FLUSH": "never"}, 2, "environment, DLOG_LOG_FLUSH: log.flush = 'never'"),
        (["--listen", "198.51.100.7:9092"], {}, 1, "cannot listen on 198.51.100.7:9092"),
        (["--data", "file/data", "--listen", "127.0.0.1:0"], {}, 1, "file"),
    ],
)
def test_what_is_wrong_is_one_line_on_standard_error(tmp_path, arguments, environment, code, reason):
    (tmp_path / "file").write_text("")
    with dlog_start(*arguments, cwd=tmp_path, environment=environment) as process:
        got, stdout, stderr = process.end()
        assert (got, stdout) == (code, "")
        assert reason in stderr
        assert "Traceback" not in stderr


def test_a_directory_has_one_broker_at_a_time(tmp_path):
    with dlog_start(*LISTEN, cwd=tmp_path) as first:
        first.wait_ready()
        with dlog_start(*LISTEN, cwd=tmp_path) as second:
            code, stdout, stderr = second.end()
            assert (code, stdout) == (1, "")
            assert "Traceback" not in stderr
            assert "dlog-data" in stderr


def node_settings(path, **values):
    settings = {"data": str(path / "data"), "listen": "127.0.0.1:0"}
    return settings_of({**settings, **{name.replace("_", "."): value for name, value in values.items()}})


async def http_get(address, path):
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body.decode()


async def connected(node):
    host, _, port = node.address.rpartition(":")
    return RawClient(*await asyncio.open_connection(host, int(port)))


async def ask(client, api_key, version, message):
    client.send(api_key, version, 1, message)
    return (await client.response(api_key, version))[1]


def test_metrics_health_and_metadata(tmp_path):
    async def scenario():
        node = await start_node(node_settings(tmp_path, metrics="127.0.0.1:0"))
        client = await connected(node)
        assert (await ask(client, API_VERSIONS, 3, ApiVersionsRequest("c", "1"))).error_code == 0
        while True:
            request = MetadataRequest([MetadataRequestTopic(name="t")], allow_auto_topic_creation=True)
            [topic] = (await ask(client, METADATA, 9, request)).topics
            if topic.error_code == 0:
                break
        batch = bytes(encode_batch([(1, None, b"value", ())] * 3))
        data = TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])
        await ask(client, PRODUCE, 9, ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[data]))

        partition = FetchPartition(0, fetch_offset=0, partition_max_bytes=1000)
        by_name = FetchRequest(min_bytes=1, topics=[FetchTopic("t", partitions=[partition])])
        await ask(client, FETCH, 11, by_name)
        by_id = FetchTopic(topic_id=node.broker.image.topics_by_name["t"].topic_id, partitions=[partition])
        await ask(client, FETCH, 13, FetchRequest(min_bytes=1, topics=[by_id]))

        status, page = await http_get(node.metrics_address, "/metrics")
        assert status == 200
        samples = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
        assert samples['dlog_requests_total{api="produce"}'] == "1"
        assert samples['dlog_request_seconds_count{api="produce"}'] == "1"
        assert samples['dlog_log_end_offset{topic="t",partition="0"}'] == "3"
        assert samples['dlog_log_appended_bytes_total{topic="t",partition="0"}'] == str(len(batch))
        assert samples['dlog_fetched_bytes_total{topic="t"}'] == str(2 * len(batch))
        assert samples["dlog_connections"] == "1"
        assert int(samples["dlog_fsync_seconds_count"]) >= 1
        assert int(samples["dlog_resident_memory_bytes"]) > 1_000_000

        assert await http_get(node.metrics_address, "/healthz") == (200, "ok\n")
        status, page = await http_get(node.metrics_address, "/api/metadata")
        metadata = json.loads(page)
        assert metadata["cluster_id"] == node.broker.cluster_id
        [broker] = metadata["brokers"]
        assert broker["id"] == 1
        assert {"processor_share", "memory_bytes", "disk_free_bytes", "records_per_second"} <= set(
            broker["load"]
        )
        [topic] = [topic for topic in metadata["topics"] if topic["name"] == "t"]
        [partition] = topic["partitions"]
        assert (partition["leader"], partition["replicas"], partition["in_sync_replicas"]) == (1, [1], [1])
        assert (partition["log_end_offset"], partition["high_watermark"]) == (3, 3)

        node.broker.directory.logs["t", 0].writer.go_offline(OSError("broken"))
        status, page = await http_get(node.metrics_address, "/healthz")
        assert status == 503
        assert "t-0" in page
        await client.close()
        await node.close()

    run(scenario())


def test_several_nodes_in_one_process(tmp_path):
    async def scenario():
        nodes = [await start_node(node_settings(tmp_path / str(n))) for n in range(3)]
        assert len({node.address for node in nodes}) == 3
        for node in nodes:
            client = await connected(node)
            [broker] = (await ask(client, METADATA, 9, MetadataRequest())).brokers
            assert f"{broker.host}:{broker.port}" == node.address
            await client.close()
        await asyncio.gather(*(node.close() for node in nodes))
        await nodes[0].close()

    run(scenario())


def test_clients_are_told_the_advertised_listener(tmp_path):
    async def scenario():
        settings = node_settings(tmp_path, advertised_listeners="broker.example.com:19092")
        node = await start_node(settings)
        client = await connected(node)
        [broker] = (await ask(client, METADATA, 9, MetadataRequest())).brokers
        assert (broker.host, broker.port) == ("broker.example.com", 19092)
        await client.close()
        await node.close()

    run(scenario())


def test_every_client_is_told_the_address_of_the_listener_by_which_it_came(tmp_path):
    async def scenario():
        settings = node_settings(
            tmp_path,
            listen="INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
            advertised_listeners="OUTSIDE://broker.example.com:19092",
        )
        node = await start_node(settings)
        told = []
        for port in node.ports:
            client = RawClient(*await asyncio.open_connection("127.0.0.1", port))
            [broker] = (await ask(client, METADATA, 9, MetadataRequest())).brokers
            told.append((broker.host, broker.port))
            await client.close()
        assert told == [("127.0.0.1", node.ports[0]), ("broker.example.com", 19092)]
        await node.close()

    run(scenario())


def test_on_all_addresses_clients_are_told_one_that_they_can_connect_to(tmp_path):
    async def scenario():
        node = await start_node(node_settings(tmp_path, listen="0.0.0.0:0"))
        client = await connected(node)
        [broker] = (await ask(client, METADATA, 9, MetadataRequest())).brokers
        assert broker.host not in ("0.0.0.0", "")
        _, writer = await asyncio.open_connection(broker.host, broker.port)
        writer.close()
        await client.close()
        await node.close()

    run(scenario())


def test_a_node_that_cannot_start_gives_back_what_it_took(tmp_path):
    (tmp_path / "data").write_text("a file where the directory should be")

    async def scenario():
        settings = node_settings(tmp_path)
        with pytest.raises(Exception, match="data"):
            await start_node(settings)
        os.unlink(tmp_path / "data")
        node = await start_node(settings)
        await node.close()

    run(scenario())


def test_a_second_signal_ends_at_once(monkeypatch):
    from distributedlog.server import run as run_module

    exits, handlers, stops = [], {}, []
    monkeypatch.setattr(run_module.signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(run_module.os, "_exit", exits.append)
    signals = run_module.StopSignals()
    handlers[signal.SIGTERM](signal.SIGTERM, None)
    assert exits == [143]  # not ready yet: there is nothing to stop in order
    signals.call_on_first(lambda: stops.append("stop"))
    handlers[signal.SIGINT](signal.SIGINT, None)
    assert (exits, stops) == ([143], ["stop"])
    handlers[signal.SIGINT](signal.SIGINT, None)
    assert (exits, stops) == ([143, 130], ["stop"])


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.INFO, logger="distributedlog")
