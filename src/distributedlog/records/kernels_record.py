"""One record, read by kernels: its fields, or what is wrong with it."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from distributedlog.records.kernels import helper
from distributedlog.records.kernels_headers import measure_headers
from distributedlog.records.kernels_memory import read_varint, read_varlong


class Fault(IntEnum):
    """What is wrong with a batch: a kernel returns one of these, and in which batch."""

    NONE = 0
    RECORD_LENGTH = 1
    DELTA = 2
    OFFSET_ORDER = 3
    TIMESTAMP = 10
    KEY_LENGTH = 4
    VALUE_LENGTH = 5
    HEADER_COUNT = 6
    HEADER_LENGTH = 7
    RECORD_END = 8
    BATCH_END = 9


FAULT_TEXTS: Final = {
    Fault.RECORD_LENGTH: "a record's length does not fit what is left of the batch",
    Fault.DELTA: "a record's timestamp or offset delta cannot be read",
    Fault.TIMESTAMP: "a record's timestamp takes more than 64 bits",
    Fault.OFFSET_ORDER: "a record's offset is not behind the one before, or behind the batch's last",
    Fault.KEY_LENGTH: "a key's length does not fit the record",
    Fault.VALUE_LENGTH: "a value's length does not fit the record",
    Fault.HEADER_COUNT: "a record's number of headers does not fit the record",
    Fault.HEADER_LENGTH: "a header's length does not fit the record",
    Fault.RECORD_END: "a record does not end where its length says",
    Fault.BATCH_END: "bytes are left behind the batch's last record",
}

_NONE: Final = int(Fault.NONE)
_RECORD_LENGTH: Final = int(Fault.RECORD_LENGTH)
_DELTA: Final = int(Fault.DELTA)
_KEY_LENGTH: Final = int(Fault.KEY_LENGTH)
_VALUE_LENGTH: Final = int(Fault.VALUE_LENGTH)
_HEADER_COUNT: Final = int(Fault.HEADER_COUNT)
_HEADER_LENGTH: Final = int(Fault.HEADER_LENGTH)
_RECORD_END: Final = int(Fault.RECORD_END)


@helper
def read_place(position: int, end: int) -> tuple[int, int, int, int, int, int]:
    """(fault, timestamp delta, where the offset delta starts, offset delta, where the key is, record end).

    It is the record's beginning, enough to know its time and offset, and to pass it over.
    """
    length, position = read_varint(position, end)
    if position < 0 or length < 1 or length > end - position:
        return _RECORD_LENGTH, 0, 0, 0, 0, 0
    record_end = position + length
    timestamp_delta, after_timestamp = read_varlong(position + 1, record_end)
    if after_timestamp < 0:
        return _DELTA, 0, 0, 0, 0, 0
    offset_delta, position = read_varint(after_timestamp, record_end)
    if position < 0:
        return _DELTA, 0, 0, 0, 0, 0
    return _NONE, timestamp_delta, after_timestamp, offset_delta, position, record_end


@helper
def read_key(position: int, record_end: int) -> tuple[int, int, int]:
    """(fault, key, its length, -1 for null) where `read_place` left off; what follows is not looked at."""
    length, key = read_varint(position, record_end)
    if key < 0 or length < -1 or length > record_end - key:
        return _KEY_LENGTH, 0, 0
    return _NONE, key, length


@helper
def read_content(position: int, record_end: int) -> tuple[int, int, int, int, int, int, int, int, int]:
    """(fault, key, its length, value, its length, headers, their count, bytes of their keys, and values).

    All of the rest is looked at: lengths are -1 for null, or fit the record, which ends with its headers.
    """
    fault, key, key_length = read_key(position, record_end)
    if fault != _NONE:
        return fault, 0, 0, 0, 0, 0, 0, 0, 0
    value_length, value = read_varint(key + max(key_length, 0), record_end)
    if value < 0 or value_length < -1 or value_length > record_end - value:
        return _VALUE_LENGTH, 0, 0, 0, 0, 0, 0, 0, 0
    count, headers = read_varint(value + max(value_length, 0), record_end)
    if headers < 0 or count < 0 or count > (record_end - headers) >> 1:
        return _HEADER_COUNT, 0, 0, 0, 0, 0, 0, 0, 0
    position = headers
    key_bytes = 0
    value_bytes = 0
    if count > 0:
        position, key_bytes, value_bytes = measure_headers(headers, record_end, count)
        if position < 0:
            return _HEADER_LENGTH, 0, 0, 0, 0, 0, 0, 0, 0
    if position != record_end:
        return _RECORD_END, 0, 0, 0, 0, 0, 0, 0, 0
    return _NONE, key, key_length, value, value_length, headers, count, key_bytes, value_bytes


@helper
def read_record(position: int, end: int) -> tuple[int, int, int, int, int, int, int]:
    """(fault, timestamp delta, offset delta, key, its length, the value's length, record end).

    Everything in the record is read, its headers too: what is written again under a new CRC must be sound.
    """
    fault, timestamp_delta, _, offset_delta, position, record_end = read_place(position, end)
    if fault != _NONE:
        return fault, 0, 0, 0, 0, 0, 0
    fault, key, key_length, _, value_length, _, _, _, _ = read_content(position, record_end)
    return fault, timestamp_delta, offset_delta, key, key_length, value_length, record_end
