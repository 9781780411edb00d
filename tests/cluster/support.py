"""Images and rules for decisions without a broker."""

from itertools import count

from distributedlog.cluster.create_topics import TopicRules, create_topics
from distributedlog.cluster.image import EMPTY_IMAGE
from distributedlog.cluster.refused import Refused
from distributedlog.cluster.replay import replay
from distributedlog.wire import ErrorCode
from distributedlog.wire.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

_ids = count(1)


def topic_id():
    return next(_ids).to_bytes(16)


def rules(brokers=(1,), num_partitions=1, replication_factor=1):
    """Configurations are refused when a key or a value is called "bad"."""

    def check(configs):
        if "bad" in configs or "bad" in configs.values():
            raise Refused(ErrorCode.INVALID_CONFIG, "bad")

    return TopicRules(brokers, num_partitions, replication_factor, check, lambda configs: [], topic_id)


def wanted(name, partitions=1, replicas=1, **configs):
    return CreatableTopic(
        name,
        partitions,
        replicas,
        configs=[CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()],
    )


def decided(image, answer_and_records):
    """The image after a decision, and its answer."""
    answer, records = answer_and_records
    return replay(image, records, image.end_offset + len(records)), answer


def image_with(*topics, image=EMPTY_IMAGE, **rule):
    made, results = decided(image, create_topics(image, CreateTopicsRequest(list(topics)), rules(**rule)))
    assert [result.error_code for result in results] == [0] * len(topics)
    return made
