"""Record batches of format 2: header, building, validating, reading, control batches, compression."""

from distributedlog.records.batches import (
    iterate_batches,
    patch_base_offset,
    set_log_append_time,
    verify_crc,
    write_crc,
)
from distributedlog.records.builder import BatchBuilder, encode_batch
from distributedlog.records.compression import DECOMPRESSED_SIZE_MAX, compress, decompress
from distributedlog.records.control import (
    ControlRecord,
    ControlType,
    build_control_batch,
    parse_control_record,
)
from distributedlog.records.errors import CorruptBatchError, InvalidRecordError, RecordsError
from distributedlog.records.header import (
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    Compression,
    TimestampType,
    parse_header,
)
from distributedlog.records.reading import decode_batch, iterate_records
from distributedlog.records.record import Record
from distributedlog.records.single import encode_single
from distributedlog.records.validate import validate_batch, validate_produced, validate_records

__all__ = [
    "DECOMPRESSED_SIZE_MAX",
    "HEADER",
    "HEADER_SIZE",
    "LOG_OVERHEAD",
    "BatchBuilder",
    "BatchHeader",
    "Compression",
    "ControlRecord",
    "ControlType",
    "CorruptBatchError",
    "InvalidRecordError",
    "Record",
    "RecordsError",
    "TimestampType",
    "build_control_batch",
    "compress",
    "decode_batch",
    "decompress",
    "encode_batch",
    "encode_single",
    "iterate_batches",
    "iterate_records",
    "parse_control_record",
    "parse_header",
    "patch_base_offset",
    "set_log_append_time",
    "validate_batch",
    "validate_produced",
    "validate_records",
    "verify_crc",
    "write_crc",
]
