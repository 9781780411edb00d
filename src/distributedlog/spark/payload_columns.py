"""[pure] From a decoder of one payload to a column, and back: a batch at a time, through Arrow."""

from collections.abc import Callable
from typing import Any, Final, Literal

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import DataType

from distributedlog.spark.errors import SparkSourceError

Mode = Literal["FAILFAST", "PERMISSIVE"]
MODES: Final = ("FAILFAST", "PERMISSIVE")


class UndecodablePayload(SparkSourceError):
    """A payload does not fit its schema."""


def check_mode(mode: str) -> None:
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; it must be one of {', '.join(MODES)}")


def decode_column(
    payloads: pa.Array, decode: Callable[[bytes], Any], kind: pa.DataType, mode: Mode
) -> pa.Array:
    """Null stays null; what cannot be decoded is null too under PERMISSIVE, else the end of the job."""
    found: list[Any] = []
    for payload in payloads.to_pylist():
        if payload is None:
            found.append(None)
            continue
        try:
            found.append(decode(payload))
        except Exception as error:
            if mode == "FAILFAST":
                raise UndecodablePayload(
                    f"a payload of {len(payload)} bytes that begins with {payload[:16].hex()} cannot be "
                    f"decoded: {type(error).__name__}: {error}. With mode='PERMISSIVE' such become null"
                ) from error
            found.append(None)
    return pa.array(found, kind)


def encode_column(rows: pa.Array, encode: Callable[[Any], bytes]) -> pa.Array:
    return pa.array([None if row is None else encode(row) for row in rows.to_pylist()], pa.binary())


def vectorised(function: Callable[[pa.Array], pa.Array], kind: DataType) -> Callable[[Column], Column]:
    """The function on columns that does this to a batch at a time.

    Spark looks at the hints to see what kind of function it is, and wants classes there, not their names.
    """
    function.__annotations__ = {next(iter(function.__annotations__)): pa.Array, "return": pa.Array}
    make: Any = arrow_udf
    return make(function, kind)  # type: ignore[no-any-return]
