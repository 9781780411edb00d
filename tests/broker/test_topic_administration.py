"""Topics come, grow and go, through requests, restarts and crashes."""

import pytest
from tests.broker.broker_stage import BrokerStage
from tests.broker.requests import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    alter,
    create,
    delete,
    metadata,
    topic,
)

from distributedlog.cluster.image import CONSUMER_OFFSETS_TOPIC
from distributedlog.log import LogDirectory
from distributedlog.log.config import LogConfig
from distributedlog.log.files import Files
from distributedlog.records import encode_single
from distributedlog.wire import ErrorCode
from distributedlog.wire.k19_create_topics import CreateTopicsRequest
from distributedlog.wire.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from distributedlog.wire.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic


def fill(stage, name, index=0, count=3):
    partition = stage.broker.partitions.get(name, index)
    for number in range(count):
        partition.append(
            bytearray(encode_single(stage.scheduler.now_ms(), b"key", b"%d" % number, ())),
            now_ms=stage.scheduler.now_ms(),
        )
    stage.scheduler.run()
    return partition


def directories(stage):
    return sorted(path.name for path in stage.path.iterdir() if path.is_dir())


def test_a_created_topic_can_be_used_when_the_answer_leaves(served):
    [result] = create(served, topic("orders", 3, retention_ms=1000))
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 3, 1)
    assert result.topic_id == served.image.topics_by_name["orders"].topic_id
    for index in range(3):
        partition = served.broker.partitions.get("orders", index)
        assert partition.topic_id == result.topic_id
        assert partition.log.config.retention_ms == 1000
    assert served.broker.partitions.get("orders", 3) is None


def test_create_topics_v5_tells_the_configuration_that_the_topic_got(served):
    [result] = create(served, topic("orders", 1, retention_ms=1000), version=5)
    configs = {config.name: config for config in result.configs}
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("1000", 1)
    assert (configs["segment.bytes"].value, configs["segment.bytes"].config_source) == ("1073741824", 5)
    assert set(configs) >= set(LogConfig().to_kafka())


@pytest.mark.parametrize("version", range(2, 8))
def test_create_topics_in_every_version(served, version):
    results = create(served, topic("a", 1, 1), topic("b/", 1, 1), version=version)
    assert [result.error_code for result in results] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_the_answer_waits_for_the_disk(served):
    served.scheduler.holds_threads = True
    waiting = served.send(CREATE_TOPICS, CreateTopicsRequest([topic("orders")]))
    served.scheduler.run()
    assert not waiting.is_done
    assert "orders" not in served.image.topics_by_name
    served.scheduler.run_threads()
    assert not waiting.is_done
    served.scheduler.holds_threads = False
    served.scheduler.run()
    assert waiting.responses[0].topics[0].error_code == 0


def test_two_requests_for_one_name_do_not_both_succeed(served):
    served.scheduler.holds_threads = True
    first = served.send(CREATE_TOPICS, CreateTopicsRequest([topic("orders")]))
    second = served.send(CREATE_TOPICS, CreateTopicsRequest([topic("orders")]))
    served.scheduler.run()
    third = served.send(CREATE_TOPICS, CreateTopicsRequest([topic("orders")]))
    served.scheduler.holds_threads = False
    served.scheduler.run()
    codes = [waiting.responses[0].topics[0].error_code for waiting in (first, second, third)]
    assert codes == [0, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.TOPIC_ALREADY_EXISTS]


def test_a_configuration_that_cannot_be_names_the_nearest_key(served):
    [result] = create(served, topic("orders", 1, retention_msx=5))
    assert result.error_code == ErrorCode.INVALID_CONFIG
    assert "retention.ms" in result.error_message
    [result] = create(served, topic("orders", 1, flush="sometimes"))
    assert result.error_code == ErrorCode.INVALID_CONFIG
    assert served.image.topics_by_name == {}


def test_validate_only_leaves_no_trace(served):
    [result] = create(served, topic("orders", 5), validate_only=True)
    assert (result.error_code, result.num_partitions) == (0, 5)
    assert served.image.topics_by_name == {}
    assert directories(served) == ["__cluster_metadata-0"]


def test_topics_survive_a_restart_and_a_crash(served):
    create(served, topic("orders", 2, retention_ms=7), topic("other"))
    delete(served, "other")
    fill(served, "orders", 1)
    before = served.image
    for again in (served.restart, served.crash, served.crash):
        again()
        assert served.image == before
        assert served.broker.partitions.get("orders", 1).log.log_end_offset == 3
        assert served.broker.partitions.get("orders", 0).log.config.retention_ms == 7


def test_a_creation_that_was_not_answered_leaves_nothing_behind_that_is_in_the_way(served):
    served.scheduler.holds_threads = True
    served.send(CREATE_TOPICS, CreateTopicsRequest([topic("orders", 2)]))
    served.scheduler.run()
    [(make_directories, _, _)] = served.scheduler.work
    make_directories()
    assert "orders-1" in directories(served)
    served.crash()
    assert served.image.topics_by_name == {}
    [result] = create(served, topic("orders", 2))
    assert result.error_code == 0
    assert fill(served, "orders", 1).log.log_end_offset == 3


class FullDisk(Files):
    """No directory can be made once it is full."""

    is_full = False

    def mkdir(self, path):
        if self.is_full:
            raise OSError(28, "No space left on device")
        super().mkdir(path)


def test_what_cannot_be_stored_is_not_promised(tmp_path):
    files = FullDisk()
    stage = BrokerStage(tmp_path / "data", files=files)
    files.is_full = True
    [result] = create(stage, "orders")
    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert stage.image.topics_by_name == {}
    files.is_full = False
    assert create(stage, "orders")[0].error_code == 0
    stage.close()


# -- deletion -------------------------------------------------------------------------------------------


def test_a_deleted_topic_is_gone_when_the_answer_leaves_and_its_files_follow(served):
    create(served, topic("orders", 2))
    partition = fill(served, "orders")
    served.scheduler.holds_threads = True
    waiting = served.send(DELETE_TOPICS, DeleteTopicsRequest([DeleteTopicState("orders")]))
    served.scheduler.run()
    served.scheduler.run_threads(1)
    assert waiting.responses[0].responses[0].error_code == 0
    assert served.broker.partitions.get("orders", 0) is None
    assert partition.is_deleted
    assert [name.rsplit("-", 1)[-1] for name in directories(served)] == ["0", "delete", "delete"]
    served.scheduler.run_threads()
    assert directories(served) == ["__cluster_metadata-0"]


def test_a_name_can_be_used_again_at_once(served):
    create(served, "orders")
    fill(served, "orders")
    served.scheduler.holds_threads = True
    gone = served.send(DELETE_TOPICS, DeleteTopicsRequest([DeleteTopicState("orders")]))
    again = served.send(CREATE_TOPICS, CreateTopicsRequest([topic("orders", 2)]))
    served.scheduler.holds_threads = False
    served.scheduler.run()
    assert gone.responses[0].responses[0].error_code == 0
    assert again.responses[0].topics[0].error_code == 0
    assert served.broker.partitions.get("orders", 0).log.log_end_offset == 0
    served.crash()
    assert served.broker.partitions.get("orders", 0).log.log_end_offset == 0
    assert not [name for name in directories(served) if name.endswith("stray")]


def test_a_new_topic_of_an_old_name_knows_nothing_of_the_old_checkpoints(served):
    create(served, "orders")
    partition = fill(served, "orders", count=5)
    partition.log.delete_records_before(4)
    served.directory.write_checkpoints()
    delete(served, "orders")
    create(served, "orders")
    fill(served, "orders", count=6)
    served.crash()
    log = served.broker.partitions.get("orders", 0).log
    assert (log.log_start_offset, log.log_end_offset) == (0, 6)


def test_a_deletion_that_a_crash_interrupted_is_finished(served):
    create(served, topic("orders", 2), topic("other"))
    before = [stat.name for stat in served.path.iterdir()]
    served.broker.topic_logs.follow = lambda old, new: None
    delete(served, "orders")
    assert [stat.name for stat in served.path.iterdir() if stat.name.startswith("orders")]
    served.crash()
    assert directories(served) == ["__cluster_metadata-0", "other-0"]
    assert "orders-0" in before


def test_a_topic_with_the_longest_name_can_be_deleted(served):
    name = "n" * 249
    assert create(served, name)[0].error_code == 0
    assert delete(served, name)[0].error_code == 0
    assert directories(served) == ["__cluster_metadata-0"]


def test_a_topic_deleted_while_it_is_flushed_does_not_take_the_disk_offline(served):
    create(served, "orders", "other")
    partition = served.broker.partitions.get("orders", 0)
    served.scheduler.holds_threads = True
    partition.append(bytearray(encode_single(1, b"k", b"v", ())), now_ms=1)
    served.send(DELETE_TOPICS, DeleteTopicsRequest([DeleteTopicState("orders")]))
    served.scheduler.run()
    works = list(served.scheduler.work)
    assert len(works) == 2, "the flush and the deletion"
    served.scheduler.work.reverse()
    served.scheduler.holds_threads = False
    served.scheduler.run()
    assert served.broker.partitions.get("orders", 0) is None
    assert fill(served, "other").log.high_watermark == 3


def test_deletion_can_be_switched_off(tmp_path):
    stage = BrokerStage(tmp_path / "data", configs={"delete.topic.enable": "false"})
    create(stage, "orders")
    assert delete(stage, "orders")[0].error_code == ErrorCode.TOPIC_DELETION_DISABLED
    request = DeleteTopicsRequest(topic_names=["orders"])
    assert stage.ask(DELETE_TOPICS, request, 2).responses[0].error_code == ErrorCode.INVALID_REQUEST
    assert "orders" in stage.image.topics_by_name
    stage.close()


@pytest.mark.parametrize("version", range(1, 7))
def test_delete_topics_in_every_version(served, version):
    create(served, "orders")
    if version < 6:
        request = DeleteTopicsRequest(topic_names=["orders", "missing"])
    else:
        request = DeleteTopicsRequest([DeleteTopicState("orders"), DeleteTopicState("missing")])
    answers = served.ask(DELETE_TOPICS, request, version).responses
    codes = [(answer.name, answer.error_code) for answer in answers]
    assert codes == [("orders", 0), ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]


# -- growth and internal topics -------------------------------------------------------------------------


def test_create_partitions_answers_each_topic(served):
    create(served, topic("a", 1), topic("b", 2))
    request = CreatePartitionsRequest(
        [CreatePartitionsTopic(name, count, None) for name, count in (("a", 3), ("b", 2), ("c", 2))]
    )
    results = served.ask(CREATE_PARTITIONS, request).results
    assert [(result.name, result.error_code) for result in results] == [
        ("a", 0),
        ("b", ErrorCode.INVALID_PARTITIONS),
        ("c", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert fill(served, "a", 2).log.log_end_offset == 3
    served.crash()
    assert served.broker.partitions.get("a", 2).log.log_end_offset == 3


def test_internal_topics_are_made_on_demand_and_once(served):
    codes = []
    served.broker.create_internal_topic(CONSUMER_OFFSETS_TOPIC, codes.append)
    served.broker.create_internal_topic(CONSUMER_OFFSETS_TOPIC, codes.append)
    served.scheduler.run()
    served.broker.create_internal_topic(CONSUMER_OFFSETS_TOPIC, codes.append)
    assert codes == [0, 0, 0]
    made = served.image.topics_by_name[CONSUMER_OFFSETS_TOPIC]
    assert len(made.partitions) == 50
    assert made.is_internal
    config = served.broker.partitions.get(CONSUMER_OFFSETS_TOPIC, 49).log.config
    assert config.compact
    assert config.segment_bytes == 100 * 1024**2


# -- other people's directories --------------------------------------------------------------------------


def test_the_logs_of_a_directory_without_metadata_become_topics(tmp_path):
    with LogDirectory(tmp_path / "data") as directory:
        log = directory.open_log("log", 0, LogConfig())
        log.append(bytearray(encode_single(1, b"k", b"v", ())), now_ms=1)
        log.append(bytearray(encode_single(1, b"k", b"v", ())), now_ms=1)
        log.advance_high_watermark(2)
        log.delete_records_before(1)
        directory.open_log("holes", 1, LogConfig())
    stage = BrokerStage(tmp_path / "data")
    assert list(stage.image.topics_by_name) == ["log"]
    log = stage.broker.partitions.get("log", 0).log
    assert (log.log_start_offset, log.log_end_offset) == (1, 2)
    stage.close()


def test_a_directory_of_a_topic_that_nobody_knows_is_put_aside_not_taken_over(served, caplog):
    create(served, "known")
    served.close()
    with LogDirectory(served.path) as directory:
        log = directory.open_log("orders", 0, LogConfig())
        log.append(bytearray(encode_single(1, b"k", b"v", ())), now_ms=1)
    served.start()
    assert "orders-0" in caplog.text
    assert list(served.image.topics_by_name) == ["known"]
    create(served, "orders")
    assert served.broker.partitions.get("orders", 0).log.log_end_offset == 0
    [aside] = [name for name in directories(served) if name.endswith("-stray")]
    assert aside.startswith("orders-0.")


def test_configuration_of_a_deleted_topic_does_not_come_back(served):
    create(served, "orders")
    assert alter(served, "orders", ("retention.ms", 0, "5")).error_code == 0
    delete(served, "orders")
    create(served, "orders")
    assert served.image.topics_by_name["orders"].configs == {}
    assert metadata(served, "orders").topics[0].error_code == 0
