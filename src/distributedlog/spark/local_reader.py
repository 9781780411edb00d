"""[io] The fast path: a range of offsets straight from the broker's files, for workers on the same machine.

The range comes from the broker, so it ends at or below the high watermark, or the last stable offset for
readers of committed data: all of it is in the files, and all its transactions are decided. Files are only
read. What happens to them meanwhile (retention, compaction, a topic deleted) shows as a file that is gone;
then whoever called reads the rest from the broker.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from distributedlog.client.errors import UnexpectedResponse
from distributedlog.client.offset_range import OffsetRange, RangeSettings
from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import REAL_FILES
from distributedlog.log.listing import list_directory
from distributedlog.log.partition_metadata import PARTITION_METADATA, PartitionMetadata
from distributedlog.log.reading import read_region
from distributedlog.log.segment import Segment
from distributedlog.log.segments import SegmentList
from distributedlog.log.transaction_index import AbortedTransaction
from distributedlog.records import RecordsError
from distributedlog.records.columns_pieces import FetchedBatches, Scratch
from distributedlog.records.header import INT64_MAX
from distributedlog.wire import ZERO_UUID

if TYPE_CHECKING:
    import pyarrow


class NotHere(Exception):
    """The files do not hold the range, or no longer: the broker does."""


class LocalRange:
    """Iterate over it once. NotHere may come at any time; `position` says from where to go on elsewhere."""

    def __init__(self, data_directory: str, wanted: OffsetRange, settings: RangeSettings) -> None:
        self.position = wanted.start
        self._directory = Path(data_directory) / str(wanted.partition)
        self._range = wanted
        self._settings = settings

    def __iter__(self) -> Iterator["pyarrow.RecordBatch"]:
        segments = SegmentList()
        try:
            segments = self._open()
            yield from self._read(segments)
        except (FileNotFoundError, CorruptLog) as error:
            raise NotHere(str(error)) from error
        finally:
            for segment in segments:
                segment.close()

    def _open(self) -> SegmentList:
        topic_id = PartitionMetadata(REAL_FILES, self._directory / PARTITION_METADATA).read()
        if self._range.topic_id != ZERO_UUID and (topic_id is None or topic_id.bytes != self._range.topic_id):
            raise NotHere(f"{self._directory} holds another topic of this name")
        base_offsets = sorted(list_directory(self._directory).base_offsets)
        if not base_offsets or base_offsets[0] > self.position:
            raise NotHere(f"{self._directory} begins behind offset {self.position}")
        segments = SegmentList(
            Segment(REAL_FILES, self._directory, base_offset, writable=False) for base_offset in base_offsets
        )
        newest = segments.active
        if newest.base_offset < self._range.end:
            newest.begin_following()
            newest.follow(newest.base_offset)
        return segments

    def _read(self, segments: SegmentList) -> Iterator["pyarrow.RecordBatch"]:
        end = self._range.end
        aborted = self._aborted(segments) if self._settings.is_read_committed else []
        buffer = bytearray()
        scratch = Scratch()
        size = self._settings.fetch_bytes
        while self.position < end:
            # Batches are taken whole: the one that holds the last record may go on behind the end.
            region = read_region(segments, self.position, INT64_MAX, size, at_least_one_batch=True)
            if region is None:
                self._check_end(segments)
                self.position = end
                return
            if len(buffer) < region.size:
                buffer = bytearray(region.size)
            start = self.position
            try:
                batches = FetchedBatches(region.read_into(buffer), start)
                if batches.next_offset <= start:
                    raise NotHere(f"{region.file.path} has no whole batch for offset {start}")
                settings = self._settings
                yield from batches.pieces(start, end, settings.columns, aborted, scratch, settings.times)
            except RecordsError as error:
                raise UnexpectedResponse(f"{region.file.path} cannot be read: {error}") from None
            self.position = min(batches.next_offset, end)

    def _check_end(self, segments: SegmentList) -> None:
        """Nothing is left below the end: compacted away, or not in the files as far as they can be read."""
        newest = segments.active
        if newest.base_offset < self._range.end:
            last = None
            for batch in newest.batches(newest.last_indexed_position()):
                last = batch.last_offset
            if last is None or last + 1 < self._range.end:
                raise NotHere(f"{self._directory} does not reach offset {self._range.end}")

    def _aborted(self, segments: SegmentList) -> list[AbortedTransaction]:
        """The aborted transactions that touch the range, from the index files; markers may lie behind it."""
        found: list[AbortedTransaction] = []
        for segment in segments.from_offset(self._range.start):
            search = segment.transaction_index.collect_aborted(self._range.start, self._range.end)
            found += search.transactions
            if search.is_complete:
                break
        return found
