import pytest

from distributedlog.log.errors import InvalidTopicName
from distributedlog.log.topic_names import check_topic_name


@pytest.mark.parametrize("topic", ["a", "A.b_c-9", "...", "x" * 249, "-", "a-delete"])
def test_names_that_kafka_allows_are_taken(topic):
    check_topic_name(topic)


@pytest.mark.parametrize("topic", ["", ".", "..", "a/b", "a b", "ä", "a\n", "x" * 250])
def test_others_are_refused(topic):
    with pytest.raises(InvalidTopicName):
        check_topic_name(topic)
