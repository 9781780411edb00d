"""Record batches in plain Python: what a producer, the log and a reader pay."""

import timeit
from collections.abc import Callable
from functools import partial

from crc32c import crc32c

from bench.figure import Figure
from distributedlog.records import (
    BatchBuilder,
    Compression,
    decode_batch,
    encode_batch,
    encode_single,
    iterate_records,
    parse_header,
    validate_batch,
)

NANOSECONDS = 1e9
TIMESTAMP = 1_700_000_000_000
BATCH_RECORDS = 160
"""100-byte records in a batch of 16 KB, the default of Kafka's producers."""


def collect(quick: bool = False) -> list[Figure]:
    """All figures of the record format; ``quick`` only shows that they can be measured."""
    return [
        *headers_and_checks(quick),
        *building(quick),
        *decoding(quick),
    ]


def headers_and_checks(quick: bool) -> list[Figure]:
    """The log's part: one batch of 16 KB, its records left closed."""
    batch = bytes(encode_batch(hundred_byte_records()))
    covered = batch[21:]
    validating = seconds_per_call(partial(validate_batch, batch), quick)
    checksum = seconds_per_call(partial(crc32c, covered), quick)
    return [
        nanoseconds("parse a batch header", partial(parse_header, batch), quick),
        Figure(
            "validate a 16 KB batch, records closed; ceiling: its CRC alone",
            len(batch) / validating / 1e9,
            "GB/s",
            ceiling=len(batch) / checksum / 1e9,
        ),
    ]


def building(quick: bool) -> list[Figure]:
    """The producer's part, per record of 100 bytes; and `Log.append`'s, a record of 1 KB in its own batch."""
    records = hundred_byte_records()

    def append_one_by_one() -> None:
        builder = BatchBuilder()
        append = builder.append
        for timestamp, key, value, headers in records:
            append(timestamp, key, value, headers)
        builder.build()

    return [
        per_record("BatchBuilder.append and build, a 100-byte record", append_one_by_one, quick),
        per_record("encode_batch, a 100-byte record", partial(encode_batch, records), quick),
        nanoseconds(
            "encode_single, a 1 KB record in its own batch",
            partial(encode_single, TIMESTAMP, None, bytes(1024)),
            quick,
        ),
    ]


def decoding(quick: bool) -> list[Figure]:
    """The reader's part: 100-byte records to Python objects."""
    batch = bytes(encode_batch(hundred_byte_records()))
    chunk = batch * 100
    keyed = bytes(encode_batch([(TIMESTAMP, b"key-%04d" % i, bytes(82), ()) for i in range(BATCH_RECORDS)]))
    figures = [
        million_records("decode_batch", partial(decode_batch, batch), BATCH_RECORDS, 1.0, quick),
        million_records("decode_batch with keys", partial(decode_batch, keyed), BATCH_RECORDS, 1.0, quick),
        million_records(
            "iterate_records over a chunk of 1.6 MB",
            lambda: sum(1 for _ in iterate_records(chunk)),
            BATCH_RECORDS * 100,
            1.0,
            quick,
        ),
    ]
    for codec in list(Compression)[1:]:
        compressed = bytes(encode_batch(hundred_byte_records(), compression=codec))
        figures.append(
            million_records(
                f"decode_batch, {codec.name.lower()}",
                partial(decode_batch, compressed),
                BATCH_RECORDS,
                None,
                quick,
            )
        )
    return figures


def hundred_byte_records() -> list[tuple[int, bytes | None, bytes | None, tuple[()]]]:
    """Records whose encoding takes a hundred bytes, without keys, ten in a millisecond."""
    return [(TIMESTAMP + index // 10, None, bytes(90), ()) for index in range(BATCH_RECORDS)]


def per_record(name: str, build: Callable[[], object], quick: bool) -> Figure:
    seconds = seconds_per_call(build, quick) / BATCH_RECORDS
    return Figure(name, seconds * NANOSECONDS, "ns", higher_is_better=False)


def nanoseconds(name: str, call: Callable[[], object], quick: bool) -> Figure:
    return Figure(name, seconds_per_call(call, quick) * NANOSECONDS, "ns", higher_is_better=False)


def million_records(
    name: str, call: Callable[[], object], records: int, bar: float | None, quick: bool
) -> Figure:
    return Figure(name, records / seconds_per_call(call, quick) / 1e6, "million records/s", bar=bar)


def seconds_per_call(call: Callable[[], object], quick: bool) -> float:
    """The least of several rounds: noise only ever adds."""
    timer = timeit.Timer(call)
    if quick:
        return timer.timeit(1)
    number = max(1, int(0.02 / max(timer.timeit(1), 1e-7)))
    return min(timer.repeat(repeat=15, number=number)) / number
