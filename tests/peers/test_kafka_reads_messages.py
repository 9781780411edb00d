"""Apache Kafka's own message classes read what we encode, and write the same bytes again.

Every API in every version and direction, the consumer protocol, and all records of the coordinators'
topics, which neither kio nor kafka-python knows.
"""

import random
import subprocess
from pathlib import Path

from tests.wire.random_messages import random_message

from distributedlog.wire import APIS
from distributedlog.wire.codec import codec_of
from distributedlog.wire.values.consumer_protocol import ASSIGNMENT, SUBSCRIPTION
from distributedlog.wire.values.offsets_topic import OFFSETS_RECORD_TYPES
from distributedlog.wire.values.transaction_state import TRANSACTION_RECORD_TYPES
from kafka_peer import JAVA

ECHO = Path(__file__).with_name("MessageEcho.java")
MESSAGES_PER_CODEC = 20
COMMON = "org.apache.kafka.common.message"
COORDINATOR = "org.apache.kafka.coordinator"


def api_codecs():
    for api in APIS.values():
        for version in api.versions:
            yield f"{COMMON}.{api.message_class('Request').__name__}Data", api.request(version)
            yield f"{COMMON}.{api.message_class('Response').__name__}Data", api.response(version)


def versioned_codecs(package, versioned):
    for version in range(versioned.last + 1):
        yield f"{package}.{versioned.message_class.__name__}", versioned.codec(version)


def value_codecs():
    for versioned in (SUBSCRIPTION, ASSIGNMENT):
        yield from versioned_codecs(COMMON, versioned)
    for topic, record_types in (("group", OFFSETS_RECORD_TYPES), ("transaction", TRANSACTION_RECORD_TYPES)):
        package = f"{COORDINATOR}.{topic}.generated"
        for record_type in record_types:
            yield f"{package}.{record_type.key_class.__name__}", codec_of(record_type.key_class, 0, False)
            yield from versioned_codecs(package, record_type.value)


def echoes_that_differ(codecs):
    """What Kafka answered, for each message that it did not write as we did."""
    generator = random.Random("messages for Kafka")
    lines = [
        f"{name} {codec.version} {codec.encode(random_message(generator, codec.layout)).hex()}"
        for name, codec in codecs
        for _ in range(MESSAGES_PER_CODEC)
    ]
    echo = subprocess.run(
        [*JAVA, str(ECHO)], input="\n".join(lines), capture_output=True, text=True, timeout=120, check=True
    )
    answers = echo.stdout.splitlines()
    assert len(answers) == len(lines)
    pairs = zip(lines, answers, strict=True)
    return [(line, answer) for line, answer in pairs if line.split(" ")[2] != answer]


def test_kafka_writes_every_api_as_we_do():
    assert echoes_that_differ(api_codecs()) == []


def test_kafka_writes_the_values_inside_of_messages_and_records_as_we_do():
    assert echoes_that_differ(value_codecs()) == []
