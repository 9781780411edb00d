"""Batches as compaction leaves them: unchanged, with fewer records, or without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distributedlog.records.batches import write_crc
from distributedlog.records.compression import compress
from distributedlog.records.header import (
    COMPRESSION_MASK,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    parse_header,
)

if TYPE_CHECKING:
    from distributedlog.records.header import Buffer


class BatchWriter:
    """Puts the batches of a compacted buffer together: runs of unchanged ones, changed ones, empty ones."""

    __slots__ = ("_buffer", "_run_end", "_run_start", "output")

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._run_start = 0
        self._run_end = 0
        self.output = bytearray()

    def keep(self, position: int, end: int) -> None:
        """Take over a batch as it is. Neighbours are copied together."""
        if position != self._run_end:
            self._copy_run()
            self._run_start = position
        self._run_end = end

    def rebuild(
        self,
        position: int,
        payload: Buffer,
        records_count: int,
        max_timestamp: int,
        delete_horizon_ms: int | None,
    ) -> None:
        """Write a batch with these records in place of its own, and with a new horizon if there is one."""
        header = parse_header(self._buffer, position)
        header.records_count = records_count
        header.max_timestamp = max_timestamp
        if delete_horizon_ms is not None:
            header.attributes |= DELETE_HORIZON_BIT
            header.base_timestamp = delete_horizon_ms
        codec = header.attributes & COMPRESSION_MASK
        self._write(header, compress(codec, payload) if codec else payload)

    def keep_empty(self, position: int) -> None:
        """Write a batch without records, which keeps offsets, producer, sequence and the time."""
        header = parse_header(self._buffer, position)
        header.attributes &= ~(COMPRESSION_MASK | DELETE_HORIZON_BIT)
        header.base_timestamp = NO_TIMESTAMP
        header.records_count = 0
        self._write(header, b"")

    def finish(self) -> bytearray:
        """All that was written."""
        self._copy_run()
        return self.output

    def _write(self, header: BatchHeader, payload: Buffer) -> None:
        self._copy_run()
        position = len(self.output)
        header.batch_length = HEADER_SIZE + len(payload) - LOG_OVERHEAD
        self.output += HEADER.pack(
            header.base_offset,
            header.batch_length,
            header.partition_leader_epoch,
            header.magic,
            0,
            header.attributes,
            header.last_offset_delta,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.records_count,
        )
        self.output += payload
        write_crc(self.output, position)

    def _copy_run(self) -> None:
        if self._run_end > self._run_start:
            with memoryview(self._buffer) as view:
                self.output += view[self._run_start : self._run_end]
        self._run_start = self._run_end
