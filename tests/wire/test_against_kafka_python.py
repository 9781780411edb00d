"""The client APIs against kafka-python, a second opinion from another author."""

import pytest
from hypothesis import given, settings
from tests.wire import kafka_python
from tests.wire.strategies import messages
from tests.wire.trees import tree_of, without_defaults

from distributedlog.wire.apis import APIS

DIRECTIONS = {"request": "Request", "response": "Response"}


def their_class(api, direction):
    return kafka_python.message_class(api.message_class(DIRECTIONS[direction]).__name__)


EVERY_SHARED_CODEC = [
    pytest.param(api, version, direction, id=f"{api.name}-{version}-{direction}")
    for api in APIS.values()
    for direction in DIRECTIONS
    if their_class(api, direction) is not None
    for version in api.versions
    if version <= their_class(api, direction).max_version
]

# Those that only brokers, controllers or newer clients than kafka-python speak.
NOT_IN_KAFKA_PYTHON = {
    "vote",
    "begin_quorum_epoch",
    "end_quorum_epoch",
    "alter_partition",
    "fetch_snapshot",
    "broker_registration",
    "broker_heartbeat",
    "unregister_broker",
    "allocate_producer_ids",
    "consumer_group_heartbeat",
    "consumer_group_describe",
    "get_telemetry_subscriptions",
    "push_telemetry",
}


def test_the_client_apis_are_all_compared():
    compared = {parameters.values[0].name for parameters in EVERY_SHARED_CODEC}
    assert {api.name for api in APIS.values()} - compared == NOT_IN_KAFKA_PYTHON


def is_decoded_as_version_0(api, direction, message):
    """kafka-python takes the body of any ApiVersions response with an error for version 0."""
    return api.name == "api_versions" and direction == "response" and message.error_code != 0


@pytest.mark.parametrize(("api", "version", "direction"), EVERY_SHARED_CODEC)
def test_bytes_and_messages_are_those_of_kafka_python(api, version, direction):
    codec = getattr(api, direction)(version)
    theirs = their_class(api, direction)

    @settings(max_examples=8)
    @given(messages(codec.layout))
    def compare(message):
        tree = without_defaults(codec.layout, tree_of(codec.layout, message))
        data = codec.encode(message)
        assert bytes(kafka_python.from_tree(theirs, version, tree).encode(version=version)) == data
        if not is_decoded_as_version_0(api, direction, message):
            assert kafka_python.to_tree(theirs.decode(data, version=version), version) == tree

    compare()
