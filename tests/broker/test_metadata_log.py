"""The metadata log: what is decided is kept, whole, through snapshots, crashes and damage."""

import random
import struct

import pytest
from tests.broker.broker_stage import BrokerStage
from tests.broker.requests import CREATE_TOPICS, alter, create, delete, topic

from distributedlog.broker.metadata_log import MetadataLog, decode_snapshot, encode_snapshot
from distributedlog.cluster.image import EMPTY_IMAGE
from distributedlog.cluster.replay import replay
from distributedlog.log import LogDirectory
from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import Files
from distributedlog.wire import ErrorCode
from distributedlog.wire.k19_create_topics import CreateTopicsRequest
from distributedlog.wire.values.metadata_records import ConfigRecord, TopicRecord


def folder(stage):
    return stage.path / "__cluster_metadata-0"


def checkpoints(stage):
    return sorted(path.name for path in folder(stage).glob("*.checkpoint"))


@pytest.fixture
def small(tmp_path):
    """A broker that takes a snapshot every 300 bytes of metadata."""
    stage = BrokerStage(tmp_path / "data", configs={"metadata.log.max.record.bytes.between.snapshots": "300"})
    yield stage
    stage.broker.directory.abandon()


def test_snapshots_replace_the_log(small):
    for number in range(20):
        create(small, topic(f"t{number}", 1, retention_ms=number))
        if number % 3 == 0:
            delete(small, f"t{number}")
    small.scheduler.advance(0)
    names = checkpoints(small)
    assert 1 <= len(names) <= 2
    log = small.broker.metadata_log.log
    assert log.log_start_offset > 0
    assert log.log_start_offset == int(names[-1].split("-")[0])
    before = small.image
    for again in (small.restart, small.crash):
        again()
        assert small.image == before
    create(small, "more")
    assert small.image.end_offset == small.broker.metadata_log.log.log_end_offset


def test_old_snapshots_and_segments_are_removed(small):
    for number in range(30):
        create(small, f"t{number}")
        small.scheduler.advance(0)
    assert len(checkpoints(small)) <= 2
    assert len(list(folder(small).glob("*.log"))) <= 2


def test_a_damaged_snapshot_is_told_of_and_the_log_serves_in_its_place(served, caplog):
    create(served, "orders")
    job = served.broker.metadata_log.begin_snapshot(served.image, 1)
    job.run()
    damaged = bytearray(job.path.read_bytes())
    damaged[-20] ^= 1
    job.path.write_bytes(damaged)
    before = served.image
    served.crash()
    assert served.image == before
    assert job.path.name in caplog.text


def test_without_snapshot_and_log_the_node_does_not_start_as_if_it_were_new(small):
    for number in range(10):
        create(small, f"t{number}")
        small.scheduler.advance(0)
    small.close()
    for path in folder(small).glob("*.checkpoint"):
        path.unlink()
    with pytest.raises(CorruptLog, match="metadata is missing"):
        small.start()
    small.directory.abandon()


def test_a_snapshot_cut_anywhere_is_damaged():
    image = replay(EMPTY_IMAGE, [ConfigRecord(2, "a", f"k{number}", "v") for number in range(5)], 5)
    data = encode_snapshot(image, 1)
    assert decode_snapshot(data, 5, "path") == image
    for size in range(len(data)):
        with pytest.raises(CorruptLog):
            decode_snapshot(data[:size], 5, "path")


def test_a_snapshot_with_any_byte_changed_is_damaged_or_says_the_same():
    image = replay(EMPTY_IMAGE, [ConfigRecord(2, "a", f"k{number}", "v") for number in range(3)], 3)
    data = encode_snapshot(image, 1)
    chance = random.Random(5)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << chance.randrange(8)
        try:
            found = decode_snapshot(bytes(damaged), 3, "path")
        except CorruptLog:
            continue
        # The base offset and the leader epoch of a batch are outside its CRC, and say nothing here.
        assert found == image


def test_an_empty_image_has_a_snapshot():
    assert decode_snapshot(encode_snapshot(EMPTY_IMAGE, 1), 0, "path") == EMPTY_IMAGE
    with pytest.raises(CorruptLog):
        decode_snapshot(b"", 0, "path")


def test_a_torn_decision_is_gone_whole(served):
    create(served, topic("kept", 2))
    before = served.image
    create(served, topic("torn", 3, retention_ms=1))
    served.broker.directory.abandon()
    log = folder(served) / f"{0:020d}.log"
    log.write_bytes(log.read_bytes()[:-5])
    served.crash()
    assert served.image.topics_by_name.keys() == before.topics_by_name.keys()
    assert served.image.end_offset == before.end_offset


def test_metadata_that_is_not_understood_stops_the_start(tmp_path):
    from distributedlog.broker.config import BrokerConfig

    with LogDirectory(tmp_path / "data") as directory:
        log = MetadataLog(directory, BrokerConfig())
        log.open()
        log.append([TopicRecord("a", b"x" * 16), TopicRecord("a", b"y" * 16)], 1)
    with LogDirectory(tmp_path / "data") as directory, pytest.raises(CorruptLog, match="there already"):
        MetadataLog(directory, BrokerConfig()).open()


def test_the_log_is_one_batch_per_round(served):
    served.scheduler.holds_threads = True
    for name in ("a", "b", "c"):
        served.send(CREATE_TOPICS, CreateTopicsRequest([topic(name)]))
    served.scheduler.holds_threads = False
    served.scheduler.run()
    data = (folder(served) / f"{0:020d}.log").read_bytes()
    sizes = []
    while data:
        size = 12 + struct.unpack_from(">i", data, 8)[0]
        sizes.append(struct.unpack_from(">i", data, 57)[0])
        data = data[size:]
    assert sizes == [3, 6], "the features of a new cluster; three topics of two records each"


class FailingSync(Files):
    """An fsync of the metadata log fails when told to."""

    fails = False

    def fsync(self, fd):
        if self.fails:
            raise OSError(5, "Input/output error")
        super().fsync(fd)


def test_a_failed_fsync_is_final_and_nothing_that_was_not_kept_is_true(tmp_path):
    files = FailingSync()
    stage = BrokerStage(tmp_path / "data", files=files)
    create(stage, "kept")
    files.fails = True
    assert alter(stage, "kept", ("retention.ms", 0, "5")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    files.fails = False
    assert alter(stage, "kept", ("retention.ms", 0, "5")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert stage.image.topics_by_name["kept"].configs == {}
    stage.crash()
    assert "kept" in stage.image.topics_by_name
    assert alter(stage, "kept", ("retention.ms", 0, "6")).error_code == 0
    stage.close()
