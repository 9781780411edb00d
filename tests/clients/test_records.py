"""Records of real clients: what one library writes, all of them read as it was."""

import time
from random import Random

import pytest
from tests.broker_fire.asking import batch_of, batches_of, create_topic, produce
from tests.clients.clients import CLIENTS
from tests.clients.face import Record, Refused

from distributedlog.wire import ErrorCode

#: When this file was read: a second before that, and minutes before the last test here. Bounds must bear it.
NOW_MS = time.time_ns() // 1_000_000 - 1_000
DAY_MS = 86_400_000
CODECS = [None, "gzip", "snappy", "lz4", "zstd"]
CODEC_NUMBERS = {None: 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def some_records(count=20):
    """Of all shapes that every library can write, long enough for a codec to have something to do."""
    return [
        Record(
            b"value-%d-" % number * 20,
            b"key-%d" % number if number % 3 else None,
            (("number", b"%d" % number), ("empty", b"")) if number % 2 else (),
            NOW_MS + number,
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_every_library_reads_what_another_wrote_in_every_codec(library, codec, bootstrap, ask, topic):
    create_topic(ask, topic)
    records = some_records()
    assert library.produce(bootstrap, topic, records, codec=codec) == list(range(len(records)))
    assert {batch.compression for batch in batches_of(ask, topic, 0)} == {CODEC_NUMBERS[codec]}
    for reader in CLIENTS.values():
        found = reader.consume(bootstrap, topic, len(records))
        assert [each.offset for each in found] == list(range(len(records)))
        assert [each.as_record() for each in found] == records


# Not every library can write everything that the format allows. All read all of it.
ODD_RECORDS = {
    "no-key": (Record(b"value"), CLIENTS),
    "no-value": (Record(None, b"key"), CLIENTS),
    "empty-is-not-null": (Record(b"", b""), CLIENTS),
    "neither": (Record(None), ("confluent-kafka",)),
    "one-header-many-times": (Record(b"v", headers=(("h", b"1"), ("g", b"2"), ("h", b"1"))), CLIENTS),
    "header-that-is-null": (
        Record(b"v", headers=(("null", None), ("empty", b""), ("null", b"not"))),
        ("confluent-kafka", "aiokafka"),
    ),
    "header-without-a-name": (Record(b"v", headers=(("", b"nameless"),)), CLIENTS),
    "words-of-other-tongues": (Record("Größe ✓".encode(), headers=(("größe ✓", b"\xff"),)), CLIENTS),
}


@pytest.mark.parametrize(
    ("record", "writer"),
    [
        pytest.param(record, writer, id=f"{name}-{writer}")
        for name, (record, writers) in ODD_RECORDS.items()
        for writer in writers
    ],
)
def test_null_and_empty_keys_values_and_headers_come_back_as_they_were(record, writer, bootstrap, ask, topic):
    create_topic(ask, topic)
    CLIENTS[writer].produce(bootstrap, topic, [record])
    for reader in CLIENTS.values():
        [found] = reader.consume(bootstrap, topic, 1)
        assert (found.value, found.key, found.headers) == (record.value, record.key, record.headers)


@pytest.mark.parametrize("codec", [None, "lz4"], ids=str)
def test_a_record_of_a_megabyte(library, codec, bootstrap, ask, topic):
    """Of chance, so that it stays as large when it is compressed."""
    create_topic(ask, topic)
    large = Random(1).randbytes(1_000_000)
    records = [Record(b"before"), Record(large), Record(b"behind")]
    for record in records:
        library.produce(bootstrap, topic, [record], codec=codec)
    for reader in CLIENTS.values():
        assert [each.value for each in reader.consume(bootstrap, topic, 3)] == [b"before", large, b"behind"]


def test_a_record_above_max_message_bytes_is_refused_and_the_next_one_taken(library, bootstrap, ask, topic):
    create_topic(ask, topic, configs={"max.message.bytes": "2000"})
    with pytest.raises(Refused) as refused:
        library.produce(bootstrap, topic, [Record(bytes(3_000))])
    assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
    assert library.produce(bootstrap, topic, [Record(bytes(1_000))]) == [0]


def test_a_first_batch_above_all_limits_of_the_fetch_comes_all_the_same(library, bootstrap, ask, topic):
    """KIP-74: or the client would never come past it."""
    create_topic(ask, topic)
    large = bytes(100_000)
    library.produce(bootstrap, topic, [Record(large)])
    library.produce(bootstrap, topic, [Record(b"behind")])
    found = library.consume(bootstrap, topic, 2, **library.SMALL_FETCHES)
    assert [each.value for each in found] == [large, b"behind"]


def test_a_fetch_from_the_middle_of_a_batch_begins_with_the_record_asked_for(library, bootstrap, ask, topic):
    """The broker sends the whole batch, the client drops the front."""
    create_topic(ask, topic)
    library.produce(bootstrap, topic, some_records(10), codec="gzip")
    [batch] = batches_of(ask, topic, 0)
    assert (batch.base_offset, batch.last_offset) == (0, 9)
    for reader in CLIENTS.values():
        assert [each.offset for each in reader.consume(bootstrap, topic, 3, offset=7)] == [7, 8, 9]


# -- timestamps -------------------------------------------------------------------------------------------


def test_create_time_is_what_the_producer_said_also_when_it_goes_back(library, bootstrap, ask, topic):
    create_topic(ask, topic)
    times = [NOW_MS, NOW_MS - 500, NOW_MS + 1, NOW_MS - DAY_MS]
    library.produce(bootstrap, topic, [Record(b"v", timestamp_ms=each) for each in times])
    for reader in CLIENTS.values():
        found = reader.consume(bootstrap, topic, len(times))
        assert [(each.timestamp_ms, each.is_append_time) for each in found] == [
            (each, False) for each in times
        ]


def test_log_append_time_is_the_brokers_whatever_the_producer_said(library, bootstrap, ask, topic):
    create_topic(ask, topic, configs={"message.timestamp.type": "LogAppendTime"})
    before_ms = time.time_ns() // 1_000_000
    library.produce(bootstrap, topic, [Record(b"v", timestamp_ms=each) for each in (1, NOW_MS)])
    after_ms = time.time_ns() // 1_000_000
    for reader in CLIENTS.values():
        found = reader.consume(bootstrap, topic, 2)
        assert all(each.is_append_time and before_ms <= each.timestamp_ms <= after_ms for each in found), (
            found
        )


@pytest.mark.parametrize(
    ("bound", "shift_ms"),
    [("message.timestamp.before.max.ms", -2 * DAY_MS), ("message.timestamp.after.max.ms", 2 * DAY_MS)],
)
def test_a_timestamp_out_of_bounds_is_refused(library, bound, shift_ms, bootstrap, ask, topic):
    create_topic(ask, topic, configs={bound: str(DAY_MS)})
    with pytest.raises(Refused) as refused:
        library.produce(bootstrap, topic, [Record(b"v", timestamp_ms=NOW_MS + shift_ms)])
    assert refused.value.code == ErrorCode.INVALID_TIMESTAMP
    assert library.produce(bootstrap, topic, [Record(b"v", timestamp_ms=NOW_MS)]) == [0]


@pytest.mark.parametrize("codec", [None, "zstd"], ids=str)
def test_a_time_is_found_exact_to_the_record(library, codec, bootstrap, ask, topic):
    create_topic(ask, topic)
    records = [Record(b"v%d" % number, timestamp_ms=NOW_MS + 10 * number) for number in range(20)]
    library.produce(bootstrap, topic, records, codec=codec)
    assert library.offset_for_time(bootstrap, topic, NOW_MS - 1_000) == 0
    assert library.offset_for_time(bootstrap, topic, NOW_MS + 70) == 7
    assert library.offset_for_time(bootstrap, topic, NOW_MS + 71) == 8
    assert library.offset_for_time(bootstrap, topic, NOW_MS + 191) is None


# -- acks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_arrive_whatever_is_acknowledged(library, acks, bootstrap, ask, topic):
    """With acks=0 there is no answer: no offset is told, and the client must not wait for one."""
    create_topic(ask, topic)
    values = [b"%d" % number for number in range(50)]
    told = library.produce(bootstrap, topic, [Record(value) for value in values], acks=acks)
    if acks != "0":
        assert told == list(range(len(values)))
    found = library.consume(bootstrap, topic, len(values))
    assert [(each.offset, each.value) for each in found] == list(enumerate(values))


def test_acks_all_needs_as_many_replicas_as_the_topic_says_and_acks_1_does_not(
    library, bootstrap, ask, topic
):
    """A single node has one. Libraries would try until the record's time is over, so a raw one does it."""
    create_topic(ask, topic, configs={"min.insync.replicas": "2"})
    assert produce(ask, topic, batch_of(b"v"), acks=-1).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert library.produce(bootstrap, topic, [Record(b"v")], acks="1") == [0]
