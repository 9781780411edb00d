"""Columns: many record batches to one Arrow record batch, and back (the extra `arrow`).

Nothing else in the package imports this on its own: numba and pyarrow take a while to load, and a broker
never needs them.
"""

try:
    import numba  # noqa: F401
    import pyarrow  # noqa: F401
except ImportError as error:
    raise ImportError(
        "columns need numba, numpy and pyarrow, which are not all installed: "
        "pip install 'distributedlog[arrow]'"
    ) from error

from distributedlog.records.columns_decode import ArrowChunk, decode_chunk, decode_to_arrow
from distributedlog.records.columns_encode import encode_columns, encode_from_arrow
from distributedlog.records.columns_from_arrow import BytesColumn, RecordColumns
from distributedlog.records.columns_read_committed import AbortedTransaction
from distributedlog.records.columns_schema import COLUMNS, HEADERS_TYPE, SCHEMA

__all__ = [
    "COLUMNS",
    "HEADERS_TYPE",
    "SCHEMA",
    "AbortedTransaction",
    "ArrowChunk",
    "BytesColumn",
    "RecordColumns",
    "decode_chunk",
    "decode_to_arrow",
    "encode_columns",
    "encode_from_arrow",
]
