"""Record batches in plain Python: what a producer, the log and a reader pay."""

from collections import deque
from collections.abc import Callable
from functools import partial
from struct import Struct

import cramjam
from crc32c import crc32c

from bench.figure import Figure
from bench.timing import Call, duration, in_turns, records_rate
from distributedlog.records import (
    HEADER_SIZE,
    BatchBuilder,
    BatchHeader,
    Compression,
    Record,
    decode_batch,
    encode_batch,
    encode_single,
    iterate_records,
    parse_header,
    validate_batch,
)
from distributedlog.records.record import make_record

TIMESTAMP = 1_700_000_000_000
CRC_COVERS_FROM = 21
BATCH_RECORDS = 160
"""100-byte records in a batch of 16 KB, the default of Kafka's producers."""

READY_PARTS = "join of ready parts of the same bytes, and their CRC"
READY_TUPLES = "the same Record tuples, each of ready fields"
CODEC_AND_TUPLES = "cramjam on the same bytes, and the same Record tuples, each of ready fields"

unpack_header = Struct(">qiibIhiqqqhii").unpack_from


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
    checksum = partial(crc32c, batch[CRC_COVERS_FROM:])
    validating, bare = in_turns(partial(validate_batch, batch), checksum, quick)
    return [
        duration(
            "parse a batch header",
            partial(parse_header, batch),
            "ns",
            lambda: BatchHeader(*unpack_header(batch)),
            "one struct.unpack_from and the same dataclass, nothing checked",
            quick,
        ),
        Figure(
            "validate a 16 KB batch, records closed",
            len(batch) / validating / 1e9,
            "GB/s",
            ceiling=len(batch) / bare / 1e9,
            ceiling_is="CRC of the same bytes",
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

    join = join_of_ready_parts(bytes(encode_batch(records)), BATCH_RECORDS)
    single = partial(encode_single, TIMESTAMP, None, bytes(1024))
    join_single = join_of_ready_parts(single(), 1)
    return [
        duration(
            "BatchBuilder, a 100-byte record",
            append_one_by_one,
            "ns",
            join,
            READY_PARTS,
            quick,
            count=BATCH_RECORDS,
        ),
        duration(
            "encode_batch, a 100-byte record",
            partial(encode_batch, records),
            "ns",
            join,
            READY_PARTS,
            quick,
            count=BATCH_RECORDS,
        ),
        duration("encode_single, a 1 KB record in its batch", single, "ns", join_single, READY_PARTS, quick),
    ]


def join_of_ready_parts(batch: bytes, records: int) -> Call:
    """What is left of building this batch when all its parts are there, three for each record: a join and
    the CRC, and a join with what stands before the CRC."""
    size = -(-(len(batch) - HEADER_SIZE) // (3 * records))
    parts = [batch[CRC_COVERS_FROM:HEADER_SIZE]]
    parts += [batch[start : start + size] for start in range(HEADER_SIZE, len(batch), size)]
    before_crc = batch[: CRC_COVERS_FROM - 4]
    pack_crc = Struct(">I").pack

    def join() -> bytes:
        covered = b"".join(parts)
        return b"".join((before_crc, pack_crc(crc32c(covered)), covered))

    assert join() == batch
    return join


def decoding(quick: bool) -> list[Figure]:
    """The reader's part: 100-byte records to Python objects."""
    batch = bytes(encode_batch(hundred_byte_records()))
    keyed = bytes(encode_batch([(TIMESTAMP, b"key-%04d" % i, bytes(82), ()) for i in range(BATCH_RECORDS)]))
    uneven = bytes(encode_batch([(TIMESTAMP, None, bytes(60 + i % 61), ()) for i in range(BATCH_RECORDS)]))
    chunk = batch * 100
    consume = deque[Record](maxlen=0).extend
    tuples_of_chunk = ready_tuples(decode_batch(batch) * 100)
    return [
        decode_rate("decode_batch", batch, quick, bar=1.0),
        decode_rate("decode_batch with keys", keyed, quick, bar=1.0),
        decode_rate("decode_batch, no two records of a size", uneven, quick),
        records_rate(
            "iterate_records over a chunk of 1.6 MB",
            lambda: consume(iterate_records(chunk)),
            BATCH_RECORDS * 100,
            lambda: consume(tuples_of_chunk()),
            READY_TUPLES,
            quick,
            bar=1.0,
        ),
        *(decode_compressed_rate(codec, quick) for codec in list(Compression)[1:]),
    ]


def decode_rate(name: str, batch: bytes, quick: bool, bar: float | None = None) -> Figure:
    tuples = ready_tuples(decode_batch(batch))
    decode = partial(decode_batch, batch)
    return records_rate(name, decode, BATCH_RECORDS, lambda: list(tuples()), READY_TUPLES, quick, bar=bar)


def decode_compressed_rate(codec: Compression, quick: bool) -> Figure:
    batch = bytes(encode_batch(hundred_byte_records(), compression=codec))
    tuples = ready_tuples(decode_batch(batch))
    expand = bare_expansion(codec, batch)
    return records_rate(
        f"decode_batch, {codec.name.lower()}",
        partial(decode_batch, batch),
        BATCH_RECORDS,
        lambda: (expand(), list(tuples())),
        CODEC_AND_TUPLES,
        quick,
    )


def bare_expansion(codec: Compression, batch: bytes) -> Call:
    """The codec's own call on the batch's records, told how much comes out; snappy without a framing."""
    payload = bytes(encode_batch(hundred_byte_records()))[HEADER_SIZE:]
    compressed = batch[HEADER_SIZE:]
    if codec is Compression.SNAPPY:
        return partial(cramjam.snappy.decompress_raw, bytes(cramjam.snappy.compress_raw(payload)))
    module = getattr(cramjam, codec.name.lower())
    expand = partial(module.decompress, compressed, output_len=len(payload))
    assert bytes(expand()) == payload
    return expand


def ready_tuples(records: list[Record]) -> Callable[[], map]:
    """A call that makes these records again out of one list for each field."""
    columns = [list(column) for column in zip(*records, strict=True)]
    return lambda: map(make_record, zip(*columns, strict=True))


def hundred_byte_records() -> list[tuple[int, bytes | None, bytes | None, tuple[()]]]:
    """Records whose encoding takes a hundred bytes, without keys, ten in a millisecond."""
    return [(TIMESTAMP + index // 10, None, bytes(90), ()) for index in range(BATCH_RECORDS)]
