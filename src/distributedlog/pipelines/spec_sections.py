"""[pure] The sections that every pipeline has: where records come from, where they go, how it runs."""

from typing import Final

from distributedlog.pipelines.spec_keys import Key, choice, duration, number, settings, text, texts, truth

TOP_KEYS: Final = (
    Key("name", text, "what the pipeline is called", is_required=True),
    Key("pipeline", texts, "a ready pipeline, or several, one behind the other", is_required=True),
    Key("bootstrap", text, "HOST:PORT of a broker", None),
)

#: Passed on under their own names; what they mean is Spark's Kafka connector's business, and our source's.
CONNECTOR_OPTIONS: Final = (
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "failOnDataLoss",
    "includeHeaders",
    "groupIdPrefix",
)


def _connector_text(value: object) -> str:
    """Numbers and truths as the options' texts."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else text(value)


SOURCE_KEYS: Final = (
    *(Key(name, _connector_text, "as in Spark's Kafka connector") for name in CONNECTOR_OPTIONS),
    Key("kafka", settings, "settings of the Kafka client", {}),
    Key("format", text, "a Spark format other than our own", "distributedlog"),
    Key("path", text, "where a format that has files has them", None),
    Key("value", choice("bytes", "text", "json", "avro", "protobuf"), "what a value is", "bytes"),
    Key("schema", text, "the fields of the value: SQL, or a file of Avro, Protobuf or JSON Schema", None),
    Key("message", text, "the full name of the message (value = protobuf)", None),
    Key("registry", text, "URL of a schema registry; values then begin with Confluent's prefix", None),
    Key("subject", text, "whose newest schema is taken from the registry, instead of schema", None),
    Key("columns", settings, "further columns as SQL expressions, behind the decoding", {}),
    Key("where", text, "an SQL condition that records must meet", None),
    Key("options", settings, "any other option of the format", {}),
)

SINK_KEYS: Final = (
    Key("topic", text, "the topic to write to", None),
    Key("exactlyOnce", truth, "each batch becomes visible whole and once", True),
    Key("key", texts, "the columns that make the record's key", None),
    Key("kafka", settings, "settings of the Kafka client", {}),
    Key("format", text, "a Spark format other than our own, as console or parquet", "distributedlog"),
    Key("path", text, "where a format that has files puts them", None),
    Key("options", settings, "any other option of the format", {}),
    Key("compacted", truth, "make the topic compacted, should it have to be made", None),
    Key("partitions", number(), "of the topic, should it have to be made", None),
)

RUN_KEYS: Final = (
    Key("trigger", text, "'available-now', or how often: '1 second'; '0s' as fast as it goes", "0s"),
    Key("checkpoint", text, "where Spark keeps the position and the state", None),
    Key("partitions", number(), "how many parts the state has; stays as it was at the first run", 2),
    Key("metrics", text, "HOST:PORT for Prometheus, status and queries", "127.0.0.1:0"),
    Key("poll", duration, "how often the status is written", "1s"),
)
