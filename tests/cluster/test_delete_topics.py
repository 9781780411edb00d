from tests.cluster.support import decided, image_with, wanted

from distributedlog.cluster.delete_topics import delete_topics
from distributedlog.wire import ErrorCode
from distributedlog.wire.k20_delete_topics import DeleteTopicState
from distributedlog.wire.schema import ZERO_UUID


def test_by_name_and_by_id():
    before = image_with(wanted("a", retention_ms="1"), wanted("b"), wanted("c"))
    b = before.topics_by_name["b"].topic_id
    image, results = decided(
        before, delete_topics(before, [DeleteTopicState("a"), DeleteTopicState(None, b)])
    )
    assert [(result.name, result.error_code) for result in results] == [("a", 0), ("b", 0)]
    assert results[1].topic_id == b
    assert list(image.topics_by_name) == ["c"]
    assert len(image.topics_by_id) == 1
    assert image.configs == {}


def test_what_is_not_there():
    image = image_with(wanted("a"))
    results, records = delete_topics(image, [DeleteTopicState("b"), DeleteTopicState(None, b"\1" * 16)])
    assert [result.error_code for result in results] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]
    assert records == []


def test_neither_name_nor_id_or_both():
    image = image_with(wanted("a"))
    topic_id = image.topics_by_name["a"].topic_id
    for state in (DeleteTopicState(None, ZERO_UUID), DeleteTopicState("a", topic_id)):
        [result], records = delete_topics(image, [state])
        assert (result.error_code, records) == (ErrorCode.INVALID_REQUEST, [])


def test_a_topic_named_twice_is_not_deleted():
    image = image_with(wanted("a"))
    topic_id = image.topics_by_name["a"].topic_id
    results, records = delete_topics(image, [DeleteTopicState("a"), DeleteTopicState("a")])
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST]
    assert records == []
    results, records = delete_topics(image, [DeleteTopicState("a"), DeleteTopicState(None, topic_id)])
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST] * 2
    assert records == []


def test_a_name_that_is_free_again_is_another_topic():
    before = image_with(wanted("a", retention_ms="1"))
    image, _ = decided(before, delete_topics(before, [DeleteTopicState("a")]))
    again = image_with(wanted("a"), image=image)
    assert again.topics_by_name["a"].topic_id != before.topics_by_name["a"].topic_id
    assert again.topics_by_name["a"].configs == {}
