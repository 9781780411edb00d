"""From file regions to records: the reading end of the embedded log."""

from collections.abc import Callable, Iterator
from typing import Final

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import FileRegion
from distributedlog.records import CorruptBatchError, Record, iterate_batches, verify_crc
from distributedlog.records.header import CONTROL_BIT
from distributedlog.records.reading import open_batch
from distributedlog.records.seeking import decode_range

#: Finds the batches from an offset on, within so many bytes; None at the end of the log. The offset comes
#: back with them: higher than asked for when retention has overtaken a slow reader.
Fetch = Callable[[int, int], tuple[int, FileRegion] | None]

RECORDS_CHUNK_BYTES: Final = 1 << 20
#: For the first read of an iteration, which often stays the only one.
FIRST_CHUNK_BYTES: Final = 1 << 14


def read_records(fetch: Fetch, offset: int, end_offset: int | None = None) -> Iterator[Record]:
    """Every record from ``offset`` on, chunk by chunk, each batch checked against its CRC."""
    bytes_max = FIRST_CHUNK_BYTES
    while (found := fetch(offset, bytes_max)) is not None:
        offset, region = found
        data = region.read()
        next_offset = offset
        damaged = 0
        try:
            for position, header in iterate_batches(data):
                damaged = position
                if header.base_offset < next_offset and position:
                    raise CorruptBatchError(f"offset {header.base_offset} where {next_offset} was due")
                next_offset = header.next_offset
                damaged = position + header.size
                if header.attributes & CONTROL_BIT or next_offset <= offset:
                    continue
                damaged = position
                verify_crc(data, position, header)
                end = next_offset if end_offset is None else end_offset
                if offset <= header.base_offset and next_offset <= end:
                    records = open_batch(data, position, header)
                else:
                    records = decode_range(data, position, header, offset, end)
                yield from records
                if next_offset >= end and end_offset is not None:
                    return
                damaged = position + header.size
        except CorruptBatchError as error:
            raise CorruptLog(str(region.file.path), region.position + damaged, str(error)) from error
        if next_offset == offset:
            raise CorruptLog(str(region.file.path), region.position, f"no whole batch for offset {offset}")
        offset = next_offset
        bytes_max = RECORDS_CHUNK_BYTES
