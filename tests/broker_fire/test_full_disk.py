"""A disk that fills up under a serving node: who writes is told, who reads is served, and when there is room
again everything goes on without a restart."""

import asyncio
import logging

import pytest
from tests.broker_fire.asking import batch_of, create_topic, end_offset, produce, records_of
from tests.log.faults.faulty_files import LimitedFiles
from tests.server.harness import run
from tests.server.processes import Client

from distributedlog.server import node as node_module
from distributedlog.server.settings import settings_of
from distributedlog.wire import ErrorCode
from distributedlog.wire.k19_create_topics import CreatableTopic, CreateTopicsRequest

CREATE_TOPICS = 19
VALUE = bytes(10_000)


class SmallDisk(LimitedFiles):
    """Made by the node in place of its own files."""

    def __init__(self, root):
        super().__init__(root, capacity=2**62)


@pytest.fixture
def disk(tmp_path, monkeypatch):
    made = SmallDisk(tmp_path)
    monkeypatch.setattr(node_module, "MeasuredFiles", lambda _: made)
    return made


def used_bytes(path):
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def produce_until_full(client):
    """How many were acknowledged before the first that was not."""
    for count in range(1000):
        answer = produce(client, "orders", batch_of(VALUE))
        if answer.error_code:
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            return count
        assert answer.base_offset == count
    raise AssertionError("the disk did not fill up")


def use(port, path, disk):
    with Client(port) as writer, Client(port) as reader:
        create_topic(writer, "orders")
        create_topic(writer, "others")
        disk.capacity = used_bytes(path) + 100_000
        count = produce_until_full(writer)
        assert 5 <= count <= 10

        assert [value for _, value in records_of(reader, "orders", 0)] == [VALUE] * count
        assert produce(writer, "others", batch_of(VALUE)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        disk.capacity = used_bytes(path)
        request = CreateTopicsRequest([CreatableTopic("new", 1, 1)], timeout_ms=30_000)
        assert writer.ask(CREATE_TOPICS, 7, request).topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR

        disk.capacity = 2**62
        assert produce(writer, "orders", batch_of(b"there is room")).base_offset == count
        assert produce(writer, "others", batch_of(b"here too")).base_offset == 0
        create_topic(writer, "new")
        assert end_offset(reader, "orders", 0) == count + 1
        assert records_of(reader, "orders", 0)[-1] == (count, b"there is room")


@pytest.mark.parametrize("flush", ["ack", "os"])
def test_a_disk_that_fills_up_and_has_room_again(tmp_path, disk, caplog, flush):
    caplog.set_level(logging.WARNING, logger="distributedlog")

    async def scenario():
        settings = {"data": str(tmp_path / "data"), "listen": "127.0.0.1:0", "log.flush": flush}
        node = await node_module.start_node(settings_of(settings))
        await asyncio.to_thread(use, node.ports[0], tmp_path, disk)
        await node.close()

    run(scenario())
    refusals = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert len(refusals) == 3, refusals  # one line for each request that was refused
    assert all("no space left" in line.lower() for line in refusals), refusals
