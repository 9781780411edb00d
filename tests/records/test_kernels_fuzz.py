"""Damaged input never crashes the kernels, and never gets past them.

They work on bare addresses, so a mistake there would not be an exception but the end of the process. The
cases therefore run in a process of their own, whose death is a failure here.
"""

import faulthandler
import random
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

SEED = 20260101


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("subject", "cases"), [("batches", 8_000), ("columns", 2_000), ("compaction", 4_000)]
)
def test_damaged_input(subject, cases, fuzz_cases):
    cases = fuzz_cases(cases)
    run = subprocess.run([sys.executable, __file__, subject, str(cases)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    accepted, refused = map(int, run.stdout.split())
    assert accepted >= cases // 100
    assert refused >= cases // 20


def seeds(source):
    """Sound buffers: codecs, headers, nulls, control batches, records of one to three varint bytes."""
    from distributedlog.records import Compression, ControlType, build_control_batch, encode_batch

    def records(count):
        return [
            (
                1_700_000_000_000 + source.randrange(100_000),
                source.choice([None, b"", source.randbytes(source.choice([3, 70]))]),
                source.choice([None, source.randbytes(source.choice([0, 5, 90]))]),
                source.choice([[], [], [("name", b"value"), ("", None)]]),
            )
            for _ in range(count)
        ]

    for codec in [Compression.NONE] * 4 + list(Compression):
        first = encode_batch(records(source.randrange(1, 9)), compression=codec)
        marker = build_control_batch(
            ControlType.ABORT, 1, producer_id=3, producer_epoch=0, base_offset=20, leader_epoch=1
        )
        last = encode_batch(
            records(4),
            base_offset=30,
            producer_id=3,
            producer_epoch=1,
            base_sequence=1,
            is_transactional=True,
        )
        yield bytearray(first + marker + last)


def mutate(source, data):
    for _ in range(source.choice([1, 1, 2, 4])):
        kind = source.randrange(6)
        position = source.randrange(len(data))
        if kind == 0:
            data[position] ^= 1 << source.randrange(8)
        elif kind == 1:
            data[position] = source.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif kind == 2:
            del data[position:]
        elif kind == 3:
            length = source.randrange(1, 12)
            data[position : position + length] = b"\xff" * length
        elif kind == 4:
            data[position:position] = source.randbytes(source.randrange(1, 20))
        else:
            field, form = source.choice([(8, ">i"), (23, ">i"), (27, ">q"), (57, ">i"), (0, ">q")])
            value = source.choice([0, 1, -1, 7, 255, 2**31 - 1, -(2**31)])
            if form == ">q":
                value = source.choice([0, 1, -1, 2**63 - 1, -(2**63)])
            if len(data) >= field + 8:
                struct.pack_into(form, data, field, value)
        if not data:
            data.append(0)


def reseal(data):
    """Make every CRC right again, so that the damage gets to where it can do harm."""
    from distributedlog.records import RecordsError, iterate_batches, write_crc

    with suppress(RecordsError):
        for position, _ in iterate_batches(data):
            write_crc(data, position)


def fuzz_batches(cases):
    from tests.records.test_columns_decode import rows

    from distributedlog.records import RecordsError, iterate_batches, iterate_records, validate_batch
    from distributedlog.records.columns import AbortedTransaction, decode_to_arrow

    source = random.Random(SEED)
    accepted = refused = 0
    sound = list(seeds(source))
    for case in range(cases):
        data = bytearray(source.choice(sound))
        mutate(source, data)
        if source.random() < 0.9:
            reseal(data)
        try:
            for position, _ in iterate_batches(data):
                validate_batch(data, position)
            expected = [tuple(record) for record in iterate_records(data)]
        except RecordsError:
            expected = None
        try:
            decoded = decode_to_arrow(data)
            decoded.validate(full=True)
            found = rows(decoded)
        except RecordsError:
            found = None
        assert found == expected, (case, bytes(data))
        accepted += found is not None
        refused += found is None
        with suppress(RecordsError):
            decode_to_arrow(
                data, columns=["offset", "headers"], aborted=[AbortedTransaction(3, 0)], start_offset=2
            )
    return accepted, refused


def fuzz_compaction(cases):
    from distributedlog.records import RecordsError, iterate_batches
    from distributedlog.records.compaction import Treatment
    from distributedlog.records.compaction_compiled import CompiledCompactor
    from distributedlog.records.compaction_python import PythonCompactor

    source = random.Random(SEED)
    accepted = refused = 0
    sound = list(seeds(source))
    for case in range(cases):
        data = bytearray(source.choice(sound))
        mutate(source, data)
        reseal(data)
        data = bytes(data)
        treatment = Treatment(source.choice([0, 1, 4, 8, 17]))
        results = []
        for form in (CompiledCompactor, PythonCompactor):
            compactor = form(1 << 20, bytes(16))
            try:
                count = len(list(iterate_batches(data)))
                compactor.map_keys(data, [True] * count, 0)
                results.append(compactor.compact(data, [treatment] * count, 1_800_000_000_000))
            except RecordsError:
                results.append(None)
        assert results[0] == results[1], (case, data)
        accepted += results[0] is not None
        refused += results[0] is None
    return accepted, refused


def fuzz_columns(cases):
    import pyarrow as pa

    from distributedlog.records import InvalidRecordError
    from distributedlog.records.columns import HEADERS_TYPE, encode_from_arrow

    source = random.Random(SEED)
    accepted = refused = 0
    for _ in range(cases):
        rows = source.randrange(1, 5)
        data = pa.py_buffer(source.randbytes(source.randrange(1, 60)))

        def offsets(count, size=data.size):
            wild = [0, 1, size, size + 1, -1, 2**31 - 1, -(2**31), source.randrange(60)]
            numbers = sorted(source.randrange(size + 1) for _ in range(count + 1))
            if count > 1 and source.random() < 0.5:
                numbers[source.randrange(1, count)] = source.choice(wild)
            return pa.py_buffer(struct.pack(f"={count + 1}i", *numbers))

        validity = pa.py_buffer(source.randbytes(1)) if source.random() < 0.5 else None
        column = pa.Array.from_buffers(pa.binary(), rows, [validity, offsets(rows), data])
        names = pa.Array.from_buffers(pa.string(), 4, [None, offsets(4), data])
        pairs = pa.StructArray.from_arrays([names, names.cast(pa.binary())], ["key", "value"])
        lists = pa.Array.from_buffers(HEADERS_TYPE, rows, [None, offsets(rows, 4)], children=[pairs])
        columns = {"value": column, "key": column.slice(0)}
        if source.random() < 0.5:
            columns["headers"] = lists
        try:
            encode_from_arrow(pa.record_batch(columns), batch_size_max=source.choice([1, 100, 10_000]))
            accepted += 1
        except InvalidRecordError:
            refused += 1
    return accepted, refused


if __name__ == "__main__":
    faulthandler.enable()
    sys.path.insert(0, str(Path(__file__).parents[2]))
    subjects = {"batches": fuzz_batches, "columns": fuzz_columns, "compaction": fuzz_compaction}
    print(*subjects[sys.argv[1]](int(sys.argv[2])))
