"""Looking a key up in the state of a running or stopped `materialize`, by Spark's ``statestore`` format.

The state is read from the checkpoint as of the last committed batch, so that the running query is not
disturbed and need not even be there.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributedlog.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Latest:
    """What a table holds for a key."""

    key: bytes
    value: bytes
    fields: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Bytes as text, what is none escaped."""
        key, value = (data.decode(errors="backslashreplace") for data in (self.key, self.value))
        return {"key": key, "value": value, **self.fields}


def read_state(spark: "SparkSession", checkpoint: Path | str) -> "DataFrame":
    """The table as a frame: ``key``, ``value``, and what else the changelog says of the record.

    Deleted keys are not in it.
    """
    if "://" not in str(checkpoint) and not list(Path(checkpoint).glob("state/0/*")):
        raise PipelineError(f"{checkpoint} holds no state yet: has the pipeline finished a batch?")
    state = spark.read.format("statestore").load(str(checkpoint))
    rows = state.selectExpr("key.*", "value.*")
    # The aggregate keeps its result in a buffer of its own naming: the struct that holds the record, and
    # the struct that orders it. The record is the one with the value and, if at all, the topic.
    (record, *_) = [
        field.name for field in rows.schema.fields if "value" in getattr(field.dataType, "names", ())
    ]
    return rows.selectExpr("key", f"`{record}`.*").where("value IS NOT NULL")


def look_up(spark: "SparkSession", checkpoint: Path | str, key: bytes | str) -> Latest | None:
    """What the table holds for this key; None where it has none, or where it was deleted."""
    wanted = key.encode() if isinstance(key, str) else key
    found = read_state(spark, checkpoint).where(f"key = X'{wanted.hex()}'").head(1)
    return next((_latest(row.asDict()) for row in found), None)


def scan(spark: "SparkSession", checkpoint: Path | str, limit: int) -> Iterator[Latest]:
    """The first keys in their order."""
    for row in read_state(spark, checkpoint).orderBy("key").limit(limit).collect():
        yield _latest(row.asDict())


def _latest(row: dict[str, Any]) -> Latest:
    key, value = bytes(row.pop("key")), bytes(row.pop("value"))
    return Latest(key, value, {name: _plain(each) for name, each in row.items() if each is not None})


def _plain(value: Any) -> Any:
    """Something that JSON can say."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(each.asDict() if hasattr(each, "asDict") else each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode(errors="backslashreplace")
    json.dumps(value)
    return value
