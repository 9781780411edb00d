"""DeleteTopics as a decision [pure]."""

from collections import Counter

from distributedlog.cluster.image import ClusterImage, TopicImage
from distributedlog.cluster.refused import Refused
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k20_delete_topics import DeletableTopicResult, DeleteTopicState
from distributedlog.wire.schema import ZERO_UUID
from distributedlog.wire.values.metadata_records import MetadataRecord, RemoveTopicRecord


def delete_topics(
    image: ClusterImage, wanted: list[DeleteTopicState]
) -> tuple[list[DeletableTopicResult], list[MetadataRecord]]:
    """One result per topic asked for. Who is named by name and by id at once is refused, not deleted."""
    counts = Counter((state.name, bytes(state.topic_id)) for state in wanted)
    found: dict[bytes, int] = Counter(
        topic.topic_id for state in _distinct(wanted) if (topic := _look_up(image, state)) is not None
    )
    results: list[DeletableTopicResult] = []
    records: list[MetadataRecord] = []
    for state in _distinct(wanted):
        key = (state.name, bytes(state.topic_id))
        try:
            if counts[key] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "the request names this topic more than once")
            topic = _named(image, state)
            if found[topic.topic_id] > 1:
                raise Refused(
                    ErrorCode.INVALID_REQUEST, "the request names this topic by its name and by its id"
                )
        except Refused as refusal:
            results.append(DeletableTopicResult(state.name, state.topic_id, refusal.code, refusal.message))
            continue
        records.append(RemoveTopicRecord(topic.topic_id))
        results.append(DeletableTopicResult(topic.name, topic.topic_id))
    return results, records


def _distinct(wanted: list[DeleteTopicState]) -> list[DeleteTopicState]:
    return list({(state.name, bytes(state.topic_id)): state for state in wanted}.values())


def _look_up(image: ClusterImage, state: DeleteTopicState) -> TopicImage | None:
    if state.name is not None:
        return image.topics_by_name.get(state.name)
    return image.topics_by_id.get(bytes(state.topic_id))


def _named(image: ClusterImage, state: DeleteTopicState) -> TopicImage:
    by_id = bytes(state.topic_id) != ZERO_UUID
    if state.name is None and not by_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "neither the name nor the id of a topic is given")
    if state.name is not None and by_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "a topic is named by its name or by its id, not by both")
    topic = _look_up(image, state)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return topic
