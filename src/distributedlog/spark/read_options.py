"""[pure] What may be asked of the reading half: the options of Spark's own Kafka source, and a few more."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from distributedlog.client import TopicPartition
from distributedlog.spark.errors import InvalidSparkOption
from distributedlog.spark.kafka_options import ClientOptions, client_options
from distributedlog.spark.offset_specs import (
    EARLIEST,
    LATEST,
    OffsetSpec,
    assigned_partitions,
    ending_spec,
    is_given,
    starting_spec,
)
from distributedlog.spark.options import GivenOptions, nearest, sort_options

#: The columns by the names of Spark's own source, in its order; ``headers`` only where asked for.
COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")

NAMES: Final = (
    "subscribe",
    "subscribePattern",
    "assign",
    "columns",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "localDataDirectory",
    "timestampDisorder",
)
#: Settings of a consumer that are read here and not by the client.
CONSUMER_SETTINGS: Final = ("group.id", "isolation.level", "fetch.max.bytes")

PATIENCE_MS: Final = 120_000
FETCH_BYTES: Final = 4 << 20
MAX_TRIGGER_DELAY_MS: Final = 15 * 60_000


@dataclass(frozen=True, slots=True)
class Subscription:
    """Exactly one of the three is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"topics like {self.pattern!r}"
        names = self.topics or tuple(dict.fromkeys(partition.topic for partition in self.assigned))
        return ", ".join(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """All of it, checked. Travels to the workers inside of readers."""

    client: ClientOptions
    subscription: Subscription
    columns: tuple[str, ...]
    starting: OffsetSpec
    ending: OffsetSpec
    #: Whether a starting timestamp that no record is as late as means the end rather than an error.
    late_start_means_end: bool = False
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = MAX_TRIGGER_DELAY_MS
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    fail_on_data_loss: bool = True
    group_id: str | None = None
    group_id_prefix: str | None = None
    is_read_committed: bool = True
    fetch_bytes: int = FETCH_BYTES
    patience_ms: int = PATIENCE_MS
    local_data_directory: str | None = None
    #: How far a record's timestamp may lie behind an earlier record's; None where nobody promises anything.
    timestamp_disorder_ms: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, object], *, is_streaming: bool | None) -> "ReadOptions":
        """Read and check what Spark hands over; None for `is_streaming` where it is not known yet."""
        given = sort_options(options, NAMES, "reading")
        patience_ms = given.number("kafkaConsumer.pollTimeoutMs", PATIENCE_MS) or PATIENCE_MS
        client = client_options(
            given.kafka, CONSUMER_SETTINGS, client_id="dlog-spark", default_api_timeout_ms=patience_ms
        )
        starting = starting_spec(given, "latest" if is_streaming else "earliest")
        ending = ending_spec(given)
        _check_ends(given, starting, ending, is_streaming)
        for unused in ("fetchOffset.numRetries", "fetchOffset.retryIntervalMs"):
            given.number(unused, None, least=0)  # tries end with the client's time limit here
        kafka = GivenOptions(given.kafka, {})
        minimum = given.number("minOffsetsPerTrigger", None)
        maximum = given.number("maxOffsetsPerTrigger", None)
        if minimum is not None and maximum is not None and minimum > maximum:
            raise InvalidSparkOption(
                f"minOffsetsPerTrigger is {minimum} and maxOffsetsPerTrigger {maximum}: no batch can be both"
            )
        return cls(
            client=client,
            subscription=_subscription(given),
            columns=_columns(given),
            starting=starting,
            ending=ending,
            late_start_means_end=given.choice(
                "startingOffsetsByTimestampStrategy", ("error", "latest"), "error"
            )
            == "latest",
            max_offsets_per_trigger=maximum,
            min_offsets_per_trigger=minimum,
            max_trigger_delay_ms=given.milliseconds("maxTriggerDelay", MAX_TRIGGER_DELAY_MS),
            min_partitions=given.number("minPartitions", None),
            max_records_per_partition=given.number("maxRecordsPerPartition", None),
            fail_on_data_loss=given.truth("failOnDataLoss", default=True),
            group_id=kafka.text("group.id"),
            group_id_prefix=given.text("groupIdPrefix"),
            is_read_committed=_is_read_committed(kafka),
            fetch_bytes=min(kafka.number("fetch.max.bytes", FETCH_BYTES) or FETCH_BYTES, 64 << 20),
            patience_ms=patience_ms,
            local_data_directory=given.text("localDataDirectory"),
            timestamp_disorder_ms=given.milliseconds("timestampDisorder", None),
        )


def _subscription(given: GivenOptions) -> Subscription:
    names = [name for name in ("subscribe", "subscribePattern", "assign") if given.text(name) is not None]
    if not names:
        raise InvalidSparkOption(
            "no topic is named: set one of the options 'subscribe', 'subscribePattern' and 'assign'"
        )
    if len(names) > 1:
        raise InvalidSparkOption(f"only one of {' and '.join(map(repr, names))} can be set")
    text = given.text(names[0]) or ""
    if names[0] == "assign":
        return Subscription(assigned=assigned_partitions(text))
    if names[0] == "subscribe":
        topics = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
        if not topics:
            raise InvalidSparkOption("option 'subscribe' names no topic; write orders,payments")
        return Subscription(topics=topics)
    try:
        re.compile(text)
    except re.error as error:
        raise InvalidSparkOption(
            f"option 'subscribePattern' is {text!r}, which is no regular expression: {error}"
        ) from None
    return Subscription(pattern=text)


def _columns(given: GivenOptions) -> tuple[str, ...]:
    text = given.text("columns")
    if text is None:
        return COLUMNS if given.truth("includeHeaders", default=False) else COLUMNS[:-1]
    return checked_columns([name.strip() for name in text.split(",") if name.strip()], "option 'columns'")


def checked_columns(names: list[str], where: str) -> tuple[str, ...]:
    """Names of columns, each once; InvalidSparkOption for another."""
    for name in names:
        if name not in COLUMNS:
            suggestion = nearest(name, {column.lower(): column for column in COLUMNS})
            raise InvalidSparkOption(
                f"{where}: there is no column {name!r}{suggestion}; there are {', '.join(COLUMNS)}"
            )
    if not names or len(set(names)) != len(names):
        raise InvalidSparkOption(f"{where} must name at least one column, and none twice")
    return tuple(names)


def _is_read_committed(kafka: GivenOptions) -> bool:
    levels = ("read_committed", "read_uncommitted")
    return kafka.choice("isolation.level", levels, "read_committed") == "read_committed"


def _check_ends(
    given: GivenOptions, starting: OffsetSpec, ending: OffsetSpec, is_streaming: bool | None
) -> None:
    if is_streaming:
        name = is_given(given, "ending")
        if name is not None:
            raise InvalidSparkOption(f"a stream has no end: option {name!r} is for batches")
        return
    if ending.kind == "earliest":
        raise InvalidSparkOption("option 'endingOffsets' is 'earliest': nothing would be read")
    if EARLIEST in (ending.by_partition or {}).values() and ending.kind == "offsets":
        raise InvalidSparkOption("option 'endingOffsets' has -2 (earliest): nothing would be read")
    if is_streaming is None:
        return
    if starting.kind == "latest":
        raise InvalidSparkOption("option 'startingOffsets' is 'latest': a batch would read nothing")
    if starting.kind == "offsets" and LATEST in (starting.by_partition or {}).values():
        raise InvalidSparkOption("option 'startingOffsets' has -1 (latest): a batch would read nothing")
