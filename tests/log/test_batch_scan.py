"""The walk over batch headers: what it yields, and everything that ends it."""

import struct

import pytest

from distributedlog.log import batch_scan
from distributedlog.log.batch_scan import ScanEnd, scan_batches
from distributedlog.log.files import REAL_FILES, OpenFile
from partition_files import batch

BATCHES = [batch(0, [b"a", b"b"]), batch(2, [b"c" * 500]), batch(7, [b"d"] * 3, leader_epoch=4)]
SIZES = [len(data) for data in BATCHES]
POSITIONS = [0, SIZES[0], SIZES[0] + SIZES[1]]


def scan(tmp_path, data, position=0, end=None, *, check_crc=True, previous_offset=-1):
    (tmp_path / "log").write_bytes(data)
    file = OpenFile(REAL_FILES, tmp_path / "log")
    scan_end = ScanEnd()
    found = list(
        scan_batches(
            file,
            position,
            len(data) if end is None else end,
            check_crc=check_crc,
            previous_offset=previous_offset,
            scan_end=scan_end,
        )
    )
    return found, scan_end


@pytest.mark.parametrize("chunk_bytes", [61, 100, 600, 1 << 20])
@pytest.mark.parametrize("check_crc", [True, False])
def test_every_batch_is_found_with_its_place(tmp_path, monkeypatch, chunk_bytes, check_crc):
    monkeypatch.setattr(batch_scan, "CHUNK_BYTES", chunk_bytes)
    found, scan_end = scan(tmp_path, b"".join(BATCHES), check_crc=check_crc)
    assert [(at.position, at.size, at.base_offset, at.last_offset) for at in found] == [
        (POSITIONS[0], SIZES[0], 0, 1),
        (POSITIONS[1], SIZES[1], 2, 2),
        (POSITIONS[2], SIZES[2], 7, 9),
    ]
    assert [at.leader_epoch for at in found] == [0, 0, 4]
    assert [at.records_count for at in found] == [2, 1, 3]
    assert (scan_end.position, scan_end.reason) == (sum(SIZES), "")


def test_the_walk_may_begin_and_end_at_any_batch(tmp_path):
    found, scan_end = scan(tmp_path, b"".join(BATCHES), POSITIONS[1], POSITIONS[2])
    assert [at.base_offset for at in found] == [2]
    assert (scan_end.position, scan_end.reason) == (POSITIONS[2], "")


def damaged(position, data):
    joined = bytearray(b"".join(BATCHES))
    joined[position : position + len(data)] = data
    return bytes(joined)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"".join(BATCHES)[: POSITIONS[2] + 60], "60 bytes where a batch header of 61"),
        (b"".join(BATCHES)[:-1], "of which"),
        (damaged(POSITIONS[2] + 16, b"\x01"), "magic 1"),
        (damaged(POSITIONS[2] + 8, struct.pack(">i", 48)), "impossible batch length 48"),
        (damaged(POSITIONS[2] + 8, struct.pack(">i", -1)), "impossible batch length -1"),
        (damaged(POSITIONS[2] + 8, struct.pack(">i", 2**31 - 1)), "a batch of 2147483659 bytes"),
        (damaged(POSITIONS[2], struct.pack(">q", 2)), "offset 2"),
        (damaged(POSITIONS[2] + 23, struct.pack(">i", -1)), "offset 7"),
        (damaged(POSITIONS[2] + 70, b"\xff"), "CRC"),
        (b"".join(BATCHES[:2]) + bytes(200), "magic 0"),
    ],
)
def test_the_walk_ends_before_what_is_no_batch(tmp_path, data, reason):
    found, scan_end = scan(tmp_path, data)
    assert [at.base_offset for at in found] == [0, 2]
    assert scan_end.position == POSITIONS[2]
    assert reason in scan_end.reason


def test_offsets_must_rise_above_what_came_before(tmp_path):
    assert len(scan(tmp_path, BATCHES[0], previous_offset=-1)[0]) == 1
    found, scan_end = scan(tmp_path, BATCHES[0], previous_offset=0)
    assert not found
    assert scan_end.position == 0


def test_without_crc_damage_inside_of_a_batch_goes_unnoticed(tmp_path):
    found, _ = scan(tmp_path, damaged(POSITIONS[2] + 70, b"\xff"), check_crc=False)
    assert len(found) == 3
