"""From results to records: the columns ``key``, ``value`` and what else a writer takes."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType

from distributedlog.pipelines.decoding import RECORD
from distributedlog.pipelines.event_time import need_columns

#: Of a frame that holds records already.
_RECORD_COLUMNS: Final = ("headers", "timestamp")
#: Only where a step decided about them: a topic's own partitions are no business of another topic.
_ROUTING: Final = ("topic", "partition")


def encode(frame: DataFrame, key: Sequence[str] = (), *, routing: Sequence[str] = ()) -> DataFrame:
    """Records as they are where the value is bytes already, else the row as JSON, with `key` as its key.

    One key column stands as its text, several as JSON, none gives no key. `routing` names which of
    ``topic`` and ``partition`` the frame has for the writer.
    """
    need_columns(frame, [*key], "[sink] key")
    if "value" in frame.columns and isinstance(frame.schema["value"].dataType, BinaryType):
        kept = [name for name in (*_RECORD_COLUMNS, *_ROUTING) if name in frame.columns]
        kept = [name for name in kept if name not in _ROUTING or name in routing]
        own_key = F.col("key") if "key" in frame.columns else F.lit(None).cast("binary")
        return frame.select((_key(key) if key else own_key).cast("binary").alias("key"), "value", *kept)
    fields = [_readable(frame, name) for name in frame.columns if name != RECORD]
    value = F.to_json(F.struct(*fields), {"timeZone": "UTC"})
    return frame.select(_key(key).cast("binary").alias("key"), value.cast("binary").alias("value"))


def _key(names: Sequence[str]) -> Column:
    if not names:
        return F.lit(None).cast("string")
    if len(names) == 1:
        return F.col(names[0]).cast("string")
    fields = [F.col(name).alias(name.rsplit(".", 1)[-1]) for name in names]
    return F.to_json(F.struct(*fields), {"timeZone": "UTC"})


def _readable(frame: DataFrame, name: str) -> Column:
    """Bytes as text: JSON has no others, and base64 is what nobody expects."""
    column = F.col(f"`{name}`")
    is_binary = isinstance(frame.schema[name].dataType, BinaryType)
    return (column.cast("string") if is_binary else column).alias(name)
