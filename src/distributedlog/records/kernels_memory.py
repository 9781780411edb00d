"""What kernels do with memory: addresses, big-endian numbers, block copies and varints.

Kernels work on addresses (int64), not on array elements: numba then neither checks for negative indices
nor mixes signed with unsigned numbers, and one `copy_bytes` is the C library's memcpy, two to four times
as fast as a loop over bytes. The price is that nothing here checks bounds. The rule that keeps kernels
safe is theirs to hold: a length that came from outside is compared as `length > end - position`, never
as `position + length > end`, which may wrap around. Helpers that are called per record take addresses,
too: an array as an argument costs the counting of references, which is more than most of them do.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from distributedlog.records.kernels import helper

if TYPE_CHECKING:
    from collections.abc import Callable

_BYTE: Final = ir.IntType(8)
_WORD: Final = ir.IntType(64)

NO_POSITION: Final = -1
"""Where a helper would return the position behind what it read, but could not read it."""


def _intrinsic(function: Callable[..., Any]) -> Any:
    return intrinsic(function)


def _loader(bits: int, *, swaps: bool = sys.byteorder == "little") -> Any:
    """A function that reads a signed number of `bits` at an address: big-endian, as all of Kafka is."""

    def load(_context: Any, _address: Any) -> Any:
        def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            value = builder.load(pointer)
            value.align = 1
            if bits > 8 and swaps:
                value = builder.bswap(value)
            return value if bits == 64 else builder.sext(value, _WORD)

        return types.int64(types.int64), generate

    return _intrinsic(load)


def _storer(bits: int, *, swaps: bool = sys.byteorder == "little") -> Any:
    """A function that writes the lowest `bits` of a number at an address, big-endian."""

    def store(_context: Any, _address: Any, _value: Any) -> Any:
        def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            address, value = arguments
            if bits < 64:
                value = builder.trunc(value, ir.IntType(bits))
            if bits > 8 and swaps:
                value = builder.bswap(value)
            stored = builder.store(value, builder.inttoptr(address, ir.IntType(bits).as_pointer()))
            stored.align = 1
            return target.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return _intrinsic(store)


load_int8: Final = _loader(8)
load_int16: Final = _loader(16)
load_int32: Final = _loader(32)
load_int64: Final = _loader(64)
load_little_int64: Final = _loader(64, swaps=sys.byteorder == "big")
load_word: Final = _loader(64, swaps=False)
store_int8: Final = _storer(8)
store_int16: Final = _storer(16)
store_int32: Final = _storer(32)
store_int64: Final = _storer(64)
store_word: Final = _storer(64, swaps=False)


@_intrinsic
def address_of(_context: Any, array: Any) -> Any:
    """Where an array's first element lies. The array must outlive every use of it."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        structure = target.make_array(signature.args[0])(target, builder, arguments[0])
        return builder.ptrtoint(structure.data, _WORD)

    return types.int64(array), generate


@_intrinsic
def copy_bytes(_context: Any, _destination: Any, _source: Any, _length: Any) -> Any:
    """memcpy: `length` bytes from one address to another; the two ranges do not overlap."""

    def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        destination, source, length = arguments
        cgutils.raw_memcpy(  # type: ignore[no-untyped-call]
            builder,
            builder.inttoptr(destination, _BYTE.as_pointer()),
            builder.inttoptr(source, _BYTE.as_pointer()),
            length,
            1,
        )
        return target.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@_intrinsic
def prefetch(_context: Any, _address: Any) -> Any:
    """Start to bring an address into the cache: by the time it is read, other work has been done."""

    def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        numbers = [ir.IntType(32)] * 3
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, ir.FunctionType(ir.VoidType(), [pointer.type, *numbers]), "llvm.prefetch.p0i8"
        )
        for_write, keep_close, is_data = numbers[0](1), numbers[0](3), numbers[0](1)
        builder.call(function, [pointer, for_write, keep_close, is_data])
        return target.get_dummy_value()

    return types.void(types.int64), generate


@helper
def load_uint8(address: int) -> int:
    return load_int8(address) & 0xFF  # type: ignore[no-any-return]


@helper
def _read_long_varint(address: int, end: int, size_max: int) -> tuple[int, int]:
    folded = 0
    shift = 0
    limit = min(end, address + size_max)
    while address < limit:
        byte = load_uint8(address)
        address += 1
        # The tenth byte has room for one bit only; the fifth byte of an int32 is checked by the caller.
        if shift == 63 and byte > 1:
            return 0, NO_POSITION
        folded |= (byte & 0x7F) << shift
        if byte < 0x80:
            return ((folded >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(folded & 1), address
        shift += 7
    return 0, NO_POSITION


@helper
def read_varlong(address: int, end: int) -> tuple[int, int]:
    """(value, address behind it) of a zigzag int64 that must end before `end`, or (0, NO_POSITION)."""
    if address < end:
        byte = load_uint8(address)
        if byte < 0x80:
            return (byte >> 1) ^ -(byte & 1), address + 1
        if end - address >= 2:
            second = load_uint8(address + 1)
            if second < 0x80:
                folded = (byte & 0x7F) | (second << 7)
                return (folded >> 1) ^ -(folded & 1), address + 2
    return _read_long_varint(address, end, 10)


@helper
def read_varint(address: int, end: int) -> tuple[int, int]:
    """(value, address behind it) of a zigzag int32 that must end before `end`, or (0, NO_POSITION)."""
    if address < end:
        byte = load_uint8(address)
        if byte < 0x80:
            return (byte >> 1) ^ -(byte & 1), address + 1
        if end - address >= 2:
            second = load_uint8(address + 1)
            if second < 0x80:
                folded = (byte & 0x7F) | (second << 7)
                return (folded >> 1) ^ -(folded & 1), address + 2
    value, behind = _read_long_varint(address, end, 5)
    if value > 0x7FFFFFFF or value < -0x80000000:
        return 0, NO_POSITION
    return value, behind


@helper
def fold(value: int) -> int:
    """The zigzag form of a number, to be written seven bits a byte."""
    return (value << 1) ^ (value >> 63)


@helper
def varint_size(value: int) -> int:
    """How many bytes `write_varint` takes for this number."""
    folded = fold(value)
    if 0 <= folded < 0x80:
        return 1
    size = 1
    folded = (folded >> 7) & 0x01FFFFFFFFFFFFFF
    while folded > 0:
        size += 1
        folded >>= 7
    return size


@helper
def write_varint(address: int, value: int) -> int:
    """Write a zigzag varint of an int32 or int64 and return the address behind it."""
    folded = fold(value)
    if 0 <= folded < 0x80:
        store_int8(address, folded)
        return address + 1
    store_int8(address, (folded & 0x7F) | 0x80)
    folded = (folded >> 7) & 0x01FFFFFFFFFFFFFF
    address += 1
    while folded >= 0x80:
        store_int8(address, (folded & 0x7F) | 0x80)
        folded >>= 7
        address += 1
    store_int8(address, folded)
    return address + 1


@helper
def clear_bit(bitmap: Any, row: int) -> None:
    """Mark a row as null in a validity bitmap that came filled with ones."""
    bitmap[row >> 3] &= ~(1 << (row & 7)) & 0xFF
