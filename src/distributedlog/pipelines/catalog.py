"""[pure] The ready pipelines: what each is called, what may be said to it, and where it is.

A key's name is the name of the argument of the function that does it, so that a specification and a call
from Python say the same. The functions themselves need pyspark and are imported when they are to run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from distributedlog.pipelines.spec_keys import (
    Key,
    choice,
    duration,
    expressions,
    function,
    number,
    text,
    texts,
    truth,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One ready pipeline; the function `name` in the module of the same name does it."""

    name: str
    summary: str
    keys: tuple[Key, ...]
    #: Whether it works on the topic's own columns (key, value, headers …) rather than on decoded fields.
    is_raw: bool = False


_EVENT_TIME = Key("time", text, "the column with the event's time", "timestamp")

AGGREGATE: Final = Step(
    "aggregate",
    "windows over event time: counts, sums, any SQL aggregate per key",
    (
        Key("by", texts, "the columns to group by, beside the window", ()),
        _EVENT_TIME,
        Key("window", duration, "how long a window is", None),
        Key("slide", duration, "how far apart windows begin (hopping windows)", None),
        Key("gap", duration, "the silence that ends a session (session windows, instead of window)", None),
        Key("watermark", duration, "how late an event may be and still count", "10 seconds"),
        Key("values", expressions, "results by name, as SQL aggregates", {"count": "count(*)"}),
        Key("emit", choice("update", "final"), "every change of a window, or its final result", "update"),
    ),
)
DEDUPLICATE: Final = Step(
    "deduplicate",
    "the first of equal events within a time bound",
    (
        Key("by", texts, "the columns that make two events the same", is_required=True),
        _EVENT_TIME,
        Key("within", duration, "how far apart duplicates may be", "10 minutes"),
    ),
)
JOIN: Final = Step(
    "join",
    "a stream with another stream, or with a table kept in a compacted topic",
    (
        Key("to", choice("table", "stream"), "what the other side is", "table"),
        Key("on", expressions, "left column = right column", is_required=True),
        Key("how", choice("inner", "left"), "whether events without a partner are kept", "inner"),
        Key("time", text, "event time of the left side (to = stream)", "timestamp"),
        Key("right_time", text, "event time of the right side (to = stream)", "timestamp"),
        Key("before", duration, "how much earlier the right event may be (to = stream)", "0s"),
        Key("after", duration, "how much later the right event may be (to = stream)", "10 minutes"),
        Key("watermark", duration, "how late events may be, on both sides (to = stream)", "10 seconds"),
        Key("prefix", text, "in front of the right side's column names", None),
    ),
)
MATERIALIZE: Final = Step(
    "materialize",
    "a changelog topic as a table of the latest value per key, to be queried",
    (Key("order", choice("offset", "timestamp"), "what makes a value the latest", "offset"),),
    is_raw=True,
)
MERGE: Final = Step(
    "merge",
    "several origins of one entity as one view",
    (
        Key("keep", choice("last", "all", "function"), "last write wins, all versions, or yours", "last"),
        Key("function", function, "merges the versions of a key (keep = function)", None),
        Key("origin", text, "SQL: which origin a record is from", "topic"),
        Key("rank", texts, "origins, the strongest first, for equal timestamps", ()),
    ),
    is_raw=True,
)
PROCESS: Final = Step(
    "process",
    "a function of your own with state and timers per key",
    (
        Key("handler", function, "a class: see distributedlog.pipelines.Handler", is_required=True),
        Key("by", texts, "the columns that make the key", is_required=True),
        Key("timers", choice("event", "processing", "none"), "the clock of the timers", "event"),
        _EVENT_TIME,
        Key("watermark", duration, "how late an event may be (timers = event)", "10 seconds"),
    ),
)
ARCHIVE: Final = Step(
    "archive",
    "a topic as Parquet (or Delta, Iceberg) by date and hour, exactly once, small files merged",
    (
        Key("path", text, "the directory, or the table for Iceberg", is_required=True),
        Key("format", choice("parquet", "delta", "iceberg"), "what is written", "parquet"),
        Key("time", text, "the column that says which date and hour", "timestamp"),
        Key("compact_files", number(0), "merge an hour's files once it has so many (0: never)", 16),
    ),
    is_raw=True,
)
REPLAY: Final = Step(
    "replay",
    "from the archive back into a topic, with keys, headers and timestamps",
    (
        Key("path", text, "what the archive wrote", is_required=True),
        Key("format", choice("parquet", "delta", "iceberg"), "what was written", "parquet"),
        Key("start", text, "the first moment, as 2026-01-31T13:00:00Z", None),
        Key("end", text, "the moment before which it ends", None),
        Key("topics", texts, "only records that came from these topics", ()),
        Key("keep_partitions", truth, "write each record to the partition it was in", False),
    ),
    is_raw=True,
)
VALIDATE: Final = Step(
    "validate",
    "records that break the schema or a rule go to a dead-letter topic, the reason in their headers",
    (
        Key("schema", text, "the fields of the JSON value, as SQL: 'id STRING, amount DOUBLE'", None),
        Key("required", texts, "fields that must not be null", ()),
        Key("rules", expressions, "names and SQL conditions that must be true", {}),
        Key("topic", text, "where good records go", is_required=True),
        Key("dead_letter_topic", text, "where the others go", is_required=True),
    ),
    is_raw=True,
)

STEPS: Final[Mapping[str, Step]] = {
    step.name: step
    for step in (
        AGGREGATE,
        JOIN,
        DEDUPLICATE,
        MATERIALIZE,
        MERGE,
        PROCESS,
        ARCHIVE,
        REPLAY,
        VALIDATE,
    )
}
