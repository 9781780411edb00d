"""Where a topic's configuration forces the broker to look into a batch, or to compress it anew [pure].

- `compression.type` other than `producer`: the records are expanded and compressed with the topic's codec.
  They stay as they are, byte for byte; only the header's attributes, length and CRC change.
- `cleanup.policy` with `compact`: a record without a key would be lost, so it is refused.
- `message.timestamp.before.max.ms`: the header only tells the largest timestamp, not the smallest.

Large batches are prepared in a thread (the codecs let go of the GIL), small ones at once.
"""

from typing import Final

from distributedlog.broker.produced_batch import (
    ATTRIBUTES,
    COMPRESSION_MASK,
    HeaderFields,
)
from distributedlog.log import LogConfig
from distributedlog.log.config import NEVER_MS
from distributedlog.log.errors import LogError
from distributedlog.log.files import Buffer
from distributedlog.records import (
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    Compression,
    Record,
    RecordsError,
    compress,
    decode_batch,
    decompress,
    verify_crc,
    write_crc,
)

#: From this size on a batch that has to be expanded or compressed does so in a thread.
THREAD_BYTES_MIN: Final = 16 * 1024

NO_TIMESTAMP: Final = -1
_ATTRIBUTES_LOW_BYTE: Final = 22
_ERRORS_SHOWN: Final = 3
_CODECS: Final = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}


class RefusedRecords(LogError):
    """Records of a batch break rules of the topic. Nothing of the batch is kept.

    ``record_errors`` holds the index of each such record in its batch, and why.
    """

    def __init__(self, record_errors: list[tuple[int, str]], *, is_about_timestamps: bool) -> None:
        shown = "; ".join(f"record {index}: {reason}" for index, reason in record_errors[:_ERRORS_SHOWN])
        more = ", the first of which are: " if len(record_errors) > _ERRORS_SHOWN else ": "
        super().__init__(f"the batch was rejected for {len(record_errors)} of its records{more}{shown}")
        self.record_errors = record_errors
        self.is_about_timestamps = is_about_timestamps


def needs_preparation(fields: HeaderFields, config: LogConfig) -> bool:
    """Whether the topic's configuration wants more than a look at the header."""
    return (
        config.compact
        or config.compression_type != "producer"
        or config.message_timestamp_before_max_ms != NEVER_MS
    ) and (
        _looks_into(config)
        or fields[ATTRIBUTES] & COMPRESSION_MASK != _CODECS.get(config.compression_type, -1)
    )


def prepares_in_thread(records: Buffer, config: LogConfig) -> bool:
    """Whether preparing the batch is too long a work for the event loop; decided before it is checked."""
    if len(records) < THREAD_BYTES_MIN or (config.compression_type == "producer" and not _looks_into(config)):
        return False
    codec = records[_ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK
    target = _CODECS.get(config.compression_type, codec)
    return codec != target or (codec != Compression.NONE and _looks_into(config))


def _looks_into(config: LogConfig) -> bool:
    return config.compact or (
        config.message_timestamp_before_max_ms != NEVER_MS and not config.is_log_append_time
    )


def prepare_batch(batch: Buffer, fields: HeaderFields, config: LogConfig, now_ms: int) -> Buffer:
    """The batch as the topic wants it stored: itself, or a new one. `RefusedRecords` when it may not be.

    ``fields`` is its checked header; `CorruptBatchError` when its CRC is wrong or it does not expand.
    """
    header = BatchHeader(*fields)
    verify_crc(batch, 0, header)
    if _looks_into(config):
        _check_records(decode_batch(batch, check_crc=False), config, now_ms)
    codec = fields[ATTRIBUTES] & COMPRESSION_MASK
    target = _CODECS.get(config.compression_type, codec)
    return batch if codec == target else recompress(batch, fields, target, _level_of(target, config))


def recompress(batch: Buffer, fields: HeaderFields, codec: int, level: int | None) -> bytearray:
    """A batch with the same records in another codec; sequences, timestamps and the rest stay."""
    with memoryview(batch) as view, view[HEADER_SIZE:] as payload:
        plain = decompress(fields[ATTRIBUTES] & COMPRESSION_MASK, payload)
    new = bytearray(HEADER_SIZE)
    new += compress(codec, plain, level)
    attributes = fields[ATTRIBUTES] & ~COMPRESSION_MASK | codec
    HEADER.pack_into(
        new,
        0,
        fields[0],
        len(new) - LOG_OVERHEAD,
        *fields[2:ATTRIBUTES],
        attributes,
        *fields[ATTRIBUTES + 1 :],
    )
    write_crc(new)
    return new


def _level_of(codec: int, config: LogConfig) -> int | None:
    match codec:
        case Compression.GZIP:
            return None if config.compression_gzip_level == -1 else config.compression_gzip_level
        case Compression.LZ4:
            return config.compression_lz4_level
        case Compression.ZSTD:
            return config.compression_zstd_level
    return None


def _check_records(records: list[Record], config: LogConfig, now_ms: int) -> None:
    keyless: list[tuple[int, str]] = []
    if config.compact:
        keyless = [
            (index, "a record without a key, which a compacted topic cannot keep")
            for index, record in enumerate(records)
            if record.key is None
        ]
    ill_timed = [] if config.is_log_append_time else _ill_timed(records, config, now_ms)
    if keyless or ill_timed:
        raise RefusedRecords(sorted(keyless + ill_timed), is_about_timestamps=bool(ill_timed))


def _ill_timed(records: list[Record], config: LogConfig, now_ms: int) -> list[tuple[int, str]]:
    earliest_ms = now_ms - config.message_timestamp_before_max_ms
    latest_ms = now_ms + config.message_timestamp_after_max_ms
    return [
        (index, f"timestamp {record.timestamp} is not between {earliest_ms} and {latest_ms}")
        for index, record in enumerate(records)
        if record.timestamp != NO_TIMESTAMP and not earliest_ms <= record.timestamp <= latest_ms
    ]


def find_ill_timed(batch: Buffer, config: LogConfig, now_ms: int) -> list[tuple[int, str]]:
    """Which records of a refused batch have the wrong times: index and reason; none if it cannot be read."""
    try:
        return _ill_timed(decode_batch(batch), config, now_ms)
    except RecordsError:
        return []
