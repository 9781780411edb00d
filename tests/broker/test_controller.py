"""One decision after the other: seeded schedules, bugs in decisions, the end."""

import logging
import random

import pytest
from tests.broker.broker_stage import BrokerStage
from tests.broker.requests import CREATE_TOPICS, DELETE_TOPICS, create, topic

from distributedlog.broker.controller import ControllerClosed
from distributedlog.wire.k19_create_topics import CreateTopicsRequest
from distributedlog.wire.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from distributedlog.wire.values.metadata_records import ProducerIdsRecord


def take_ids(count):
    """A decision that takes producer ids, and answers with the first of them."""

    def decide(image):
        first = image.next_producer_id
        return first, [ProducerIdsRecord(1, -1, first + count)]

    return decide


def test_each_decision_sees_those_before_it(served):
    answers = []
    for _ in range(5):
        served.broker.controller.submit(take_ids(10), answers.append)
    served.scheduler.run()
    assert answers == [0, 10, 20, 30, 40]
    assert served.image.next_producer_id == 50


def test_a_bug_in_a_decision_fails_it_and_no_other(served, caplog):
    answers, errors = [], []

    def broken(image):
        raise ZeroDivisionError

    for decide in (take_ids(1), broken, take_ids(1)):
        served.broker.controller.submit(decide, answers.append, errors.append)
    with caplog.at_level(logging.CRITICAL):
        served.scheduler.run()
    assert answers == [0, 1]
    assert [type(error) for error in errors] == [ZeroDivisionError]


def test_a_bug_in_whoever_gets_the_answer_does_not_stop_the_controller(served, caplog):
    answers = []
    served.broker.controller.submit(take_ids(1), lambda _: 1 / 0)
    served.broker.controller.submit(take_ids(1), answers.append)
    with caplog.at_level(logging.CRITICAL):
        served.scheduler.run()
    assert answers == [1]


def test_a_decision_without_records_is_answered_without_the_disk(served):
    served.scheduler.holds_threads = True
    answers = []
    served.broker.controller.submit(lambda image: (image.end_offset, []), answers.append)
    served.scheduler.run()
    assert answers == [served.image.end_offset]


def test_who_follows_the_image_hears_of_every_one(served):
    heard = []
    served.broker.on_image_changed.append(lambda old, new: heard.append((old.end_offset, new.end_offset)))
    create(served, "a")
    create(served, "b")
    assert [new for _, new in heard] == [old for old, _ in heard[1:]] + [served.image.end_offset]


def test_the_end_answers_who_waits(served):
    answers, errors = [], []
    served.scheduler.holds_threads = True
    served.broker.controller.submit(take_ids(1), answers.append, errors.append)
    served.scheduler.run()
    served.broker.controller.submit(take_ids(1), answers.append, errors.append)
    served.broker.controller.close()
    served.broker.controller.submit(take_ids(1), answers.append, errors.append)
    assert [type(error) for error in errors] == [ControllerClosed] * 2
    served.scheduler.holds_threads = False
    served.scheduler.run()
    assert answers == []
    assert [type(error) for error in errors] == [ControllerClosed] * 3


@pytest.mark.parametrize("seed", range(25))
def test_any_schedule_of_creations_and_deletions(tmp_path, seed):
    """However threads and callbacks interleave: every request is answered once, as the requests' order
    says, and the logs are those of the image, also after a crash in the middle."""
    chance = random.Random(seed)
    stage = BrokerStage(tmp_path / "data", chance=chance)
    model, waiting = set(), []
    stage.scheduler.holds_threads = True
    for _ in range(30):
        name = chance.choice("abc")
        if chance.random() < 0.6:
            waiting.append((stage.send(CREATE_TOPICS, CreateTopicsRequest([topic(name)])), name in model))
            model.add(name)
        else:
            request = DeleteTopicsRequest([DeleteTopicState(name)])
            waiting.append((stage.send(DELETE_TOPICS, request), name not in model))
            model.discard(name)
        for _ in range(chance.randrange(4)):
            stage.scheduler.run_soon()
            if stage.scheduler.work:
                stage.scheduler.run_threads(1)
    crash = chance.random() < 0.5
    if not crash:
        stage.scheduler.holds_threads = False
        stage.scheduler.run()
        for one, is_refused in waiting:
            [response] = one.responses
            [result] = getattr(response, "topics", None) or response.responses
            assert bool(result.error_code) == is_refused
        assert set(stage.image.topics_by_name) == model
    answered = stage.image
    stage.crash()
    assert stage.image.end_offset >= answered.end_offset
    partitions = {(partition.topic, partition.topic_id) for partition in stage.broker.partitions}
    assert partitions == {(t.name, t.topic_id) for t in stage.image.topics_by_name.values()}
    on_disk = {name for name, _ in stage.directory.partitions_on_disk()} - {"__cluster_metadata"}
    if not crash:
        assert on_disk == model
    stage.close()
