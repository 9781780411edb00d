"""The columns that records have in Arrow: names and types as Spark's Kafka source knows them.

A record without headers has null there, not an empty list. A record without a timestamp keeps Kafka's
-1, one millisecond before 1970. timestamp_type is 0 for CreateTime and 1 for LogAppendTime.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

SCHEMA: Final = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("timestamp_type", pa.int32(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS_TYPE),
    ]
)

COLUMNS: Final[tuple[str, ...]] = tuple(SCHEMA.names)
