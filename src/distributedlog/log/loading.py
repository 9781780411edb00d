"""Opening a log: finishing what a crash interrupted, and cutting what it tore [io].

A cleanly closed log is opened by a look at its tail, in time independent of its size. Otherwise
every segment from the recovery point on is read batch by batch, with CRC, and cut at the first
batch that is not sound. Below the recovery point everything had reached the disk; damage found
there is not a torn write but a broken disk or a foreign hand, and nothing is cut: `CorruptLog`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from distributedlog.log.batch_scan import CHUNK_BYTES, BatchAt, ScanEnd, scan_batches
from distributedlog.log.config import LogConfig
from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import FULL_DISK_ERRORS, Files, write_fully
from distributedlog.log.leader_epochs import (
    LEADER_EPOCH_CHECKPOINT,
    UNDEFINED_EPOCH,
    LeaderEpochCheckpoint,
    LeaderEpochFileCache,
)
from distributedlog.log.listing import DirectoryListing, list_directory
from distributedlog.log.partition_log import PartitionLog
from distributedlog.log.producer_state import PRODUCER_ID_EXPIRATION_MS, ProducerStateManager
from distributedlog.log.replay import replay_producers
from distributedlog.log.segment import RELATIVE_OFFSET_MAX, Segment
from distributedlog.log.segment_files import INDEX_SUFFIXES, LOG_SUFFIX, rename_to_deleted, segment_path
from distributedlog.log.segments import SegmentList
from distributedlog.log.snapshot_files import SnapshotFiles
from distributedlog.log.swap import finish_interrupted_swaps, remove_waste
from distributedlog.records import HEADER, HEADER_SIZE, LOG_OVERHEAD

#: Sound batches behind a damaged one, put aside by recovery instead of thrown away.
CUT_SUFFIX: Final = ".cut"


@dataclass(slots=True)
class RecoveryReport:
    """What opening a log had to do; all zero after a clean close."""

    was_clean: bool = True
    segments_scanned: int = 0
    bytes_scanned: int = 0
    bytes_cut: int = 0
    cut_reason: str = ""
    saved_to: list[Path] = field(default_factory=list)
    swaps_finished: int = 0


def open_partition_log(
    files: Files,
    directory: Path,
    config: LogConfig,
    *,
    was_clean: bool,
    now_ms: int,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    clean_offset: int = 0,
    producer_id_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS,
    cut_damage: bool = False,
) -> tuple[PartitionLog, RecoveryReport]:
    """Open the log in ``directory``, which exists; an empty one begins at ``log_start_offset``.

    Below ``clean_offset`` it was compacted, and gaps are nothing to wonder at.
    """
    report = RecoveryReport(was_clean)
    listing = list_directory(directory)
    if listing.has_leftovers:
        report.swaps_finished = finish_interrupted_swaps(files, directory)
        remove_waste(files, directory)
        listing = list_directory(directory)
    base_offsets = _without_deleted(files, directory, listing, log_start_offset)
    _remove_orphan_indexes(files, directory, listing, set(base_offsets))
    created = not base_offsets
    segments = SegmentList(
        Segment(
            files,
            directory,
            base_offset,
            index_interval_bytes=config.index_interval_bytes,
            index_bytes_max=config.segment_index_bytes,
            created_ms=now_ms,
        )
        for base_offset in (base_offsets or [log_start_offset])
    )
    if created:
        segments.active.create()
    epochs, epochs_are_sound = _read_leader_epochs(files, directory)
    log_end_offset: int | None = log_start_offset
    first_scanned: int | None = None
    if not created:
        log_end_offset = _end_of_clean_log(segments) if was_clean else None
    if log_end_offset is None:
        report.was_clean = False
        first_scanned = _first_to_scan(segments, recovery_point)
        log_end_offset = _recover(
            files, segments, epochs, recovery_point, clean_offset, report, config, cut_damage=cut_damage
        )
    log_start_offset = min(max(log_start_offset, segments[0].base_offset), log_end_offset)
    segments.active.activate()
    epochs_changed = not epochs_are_sound or epochs.latest_epoch < _last_epoch(segments.active)
    if epochs_changed:
        _rebuild_leader_epochs(epochs, segments)
    epochs_changed |= epochs.truncate_from_end(log_end_offset)
    epochs_changed |= epochs.truncate_from_start(log_start_offset)
    if epochs_changed or not report.was_clean:
        _write_leader_epochs(files, directory, epochs)
    states = ProducerStateManager(producer_id_expiration_ms)
    snapshots = SnapshotFiles(files, directory)
    snapshot_offset_max = log_end_offset if first_scanned is None else first_scanned
    if any(offset > snapshot_offset_max for offset in listing.snapshot_offsets):
        snapshots.delete_from(snapshot_offset_max + 1)
    if not report.was_clean:
        snapshots.delete_before(segments[0].base_offset)
    first_rebuilt = _first_damaged_transaction_index(listing, segments, first_scanned)
    replay_producers(
        states,
        segments,
        snapshots,
        log_end_offset=log_end_offset,
        rebuild_transaction_indexes_from=first_rebuilt,
        now_ms=now_ms,
    )
    if first_rebuilt is not None:
        for segment in segments.from_offset(first_rebuilt):
            segment.transaction_index.sync()
    log = PartitionLog(
        files,
        directory,
        config,
        segments=segments,
        snapshots=snapshots,
        producer_states=states,
        leader_epochs=epochs,
        log_start_offset=log_start_offset,
        log_end_offset=log_end_offset,
        recovery_point=log_end_offset if report.was_clean else min(recovery_point, log_end_offset),
        directory_changed=created or not report.was_clean,
    )
    return log, report


def _read_leader_epochs(files: Files, directory: Path) -> tuple[LeaderEpochFileCache, bool]:
    """The table, and whether there is one: no log that has batches has none."""
    checkpoint = LeaderEpochCheckpoint(files, directory / LEADER_EPOCH_CHECKPOINT)
    try:
        epochs = checkpoint.read()
    except CorruptLog:
        epochs = LeaderEpochFileCache()
    return epochs, len(epochs) > 0


def _first_damaged_transaction_index(
    listing: DirectoryListing, segments: SegmentList, first_scanned: int | None
) -> int | None:
    """From which segment on the transaction indexes have to be written anew. Those that recovery has read
    are; of the others, few of which have one, the first that is damaged."""
    if listing.transaction_indexes:
        indexed = set(listing.transaction_indexes)
        for segment in segments:
            if segment.base_offset == first_scanned:
                break
            if segment.base_offset in indexed:
                try:
                    segment.transaction_index.sanity_check(segment.base_offset)
                except CorruptLog:
                    return segment.base_offset
    return first_scanned


def _last_epoch(active: Segment) -> int:
    """Of the youngest batch; a table that does not know it was lost or damaged."""
    last_epoch = UNDEFINED_EPOCH
    for batch in active.batches(active.last_indexed_position()):
        last_epoch = batch.leader_epoch
    return last_epoch


def _rebuild_leader_epochs(epochs: LeaderEpochFileCache, segments: SegmentList) -> None:
    epochs.clear()
    for segment in segments:
        for batch in segment.batches():
            if batch.leader_epoch > epochs.latest_epoch:
                epochs.assign(batch.leader_epoch, batch.base_offset)


def _write_leader_epochs(files: Files, directory: Path, epochs: LeaderEpochFileCache) -> None:
    """A full disk must not keep a log from being opened and read: the next change is written again."""
    try:
        LeaderEpochCheckpoint(files, directory / LEADER_EPOCH_CHECKPOINT).write(epochs)
    except OSError as error:
        if error.errno not in FULL_DISK_ERRORS:
            raise


def _without_deleted(
    files: Files, directory: Path, listing: DirectoryListing, log_start_offset: int
) -> list[int]:
    """Remove the segments below the log start offset that a loss of power has brought back."""
    base_offsets = listing.base_offsets
    count = sum(next_base_offset <= log_start_offset for next_base_offset in base_offsets[1:])
    for base_offset in base_offsets[:count]:
        for suffix in (*INDEX_SUFFIXES, LOG_SUFFIX):
            files.unlink_if_there(segment_path(directory, base_offset, suffix))
    return base_offsets[count:]


def _remove_orphan_indexes(
    files: Files, directory: Path, listing: DirectoryListing, base_offsets: set[int]
) -> None:
    """An index whose log is gone would lie in the way of a later segment of that name."""
    for name, base_offset in listing.indexes:
        if base_offset not in base_offsets:
            files.unlink_if_there(directory / name)


# -- the end of the log -------------------------------------------------------------------------------


def _end_of_clean_log(segments: SegmentList) -> int | None:
    """The log end offset by a look at the tail; None when the tail is not what a clean close leaves."""
    active = segments.active
    end_offset = active.base_offset
    scan_end = ScanEnd()
    for batch in scan_batches(
        active.log, active.last_indexed_position(), active.size, check_crc=False, scan_end=scan_end
    ):
        end_offset = batch.last_offset + 1
    return end_offset if scan_end.position == active.size else None


def _first_to_scan(segments: SegmentList, recovery_point: int) -> int:
    """Where recovery begins. A segment that ends at the recovery point was synced, but when the writer
    died just after the roll, not its indexes."""
    return segments.floor(max(recovery_point - 1, 0)).base_offset


def _recover(
    files: Files,
    segments: SegmentList,
    epochs: LeaderEpochFileCache,
    recovery_point: int,
    clean_offset: int,
    report: RecoveryReport,
    config: LogConfig,
    *,
    cut_damage: bool,
) -> int:
    """Read all from the recovery point on, cut where it is no longer sound; the log end offset."""
    end_offset = first_scanned = _first_to_scan(segments, recovery_point)

    def observe(batch: BatchAt) -> None:
        nonlocal end_offset
        end_offset = batch.last_offset + 1
        if batch.leader_epoch > epochs.latest_epoch:
            epochs.assign(batch.leader_epoch, batch.base_offset)

    previous: Segment | None = None
    for segment in segments.from_offset(first_scanned):
        fits = False
        if segment.base_offset < end_offset:
            scan_end = ScanEnd(0, f"it begins below {end_offset}, where the segment before ends")
        elif _is_hole(end_offset, segment, recovery_point, clean_offset, config):
            scan_end = ScanEnd(0, f"offsets {end_offset} to {segment.base_offset - 1} before it are missing")
        else:
            fits = True
            end_offset = segment.base_offset
            scan_end = segment.recover(observe)
            if segment is not segments.active:
                segment.seal()
        report.segments_scanned += 1
        report.bytes_scanned += scan_end.position
        if scan_end.position < segment.size or scan_end.reason:
            if end_offset < recovery_point and not cut_damage:
                raise CorruptLog(
                    str(segment.log.path),
                    scan_end.position,
                    f"{scan_end.reason}; offsets below {recovery_point} had reached the disk, so this is no "
                    "torn write and nothing was cut (open with repair=True to keep what lies before it)",
                )
            report.cut_reason = scan_end.reason
            if previous is not None and not fits:
                _cut(files, segments, previous, previous.size, end_offset, report)
            else:
                _cut(files, segments, segment, scan_end.position, end_offset, report)
            break
        previous = segment
    if end_offset < recovery_point and not cut_damage:
        raise CorruptLog(
            str(segments.active.log.path),
            segments.active.size,
            f"the log ends at offset {end_offset}, but offsets up to {recovery_point} had reached the disk "
            "(open with repair=True to go on without them)",
        )
    return end_offset


def _is_hole(
    end_offset: int, segment: Segment, recovery_point: int, clean_offset: int, config: LogConfig
) -> bool:
    """Whether what is missing before a segment was lost: its predecessor's end never reached the disk.

    Compaction leaves gaps too, but only below the recovery point; and a replica whose leader's log has
    a gap that no segment spans.
    """
    gap = segment.base_offset - end_offset
    if not 0 < gap <= RELATIVE_OFFSET_MAX or segment.base_offset <= clean_offset:
        return False
    return end_offset >= recovery_point or not config.compact


def _cut(
    files: Files,
    segments: SegmentList,
    segment: Segment,
    position: int,
    end_offset: int,
    report: RecoveryReport,
) -> None:
    """Cut a segment and drop those behind it; what could still be of worth is put aside first."""
    later = [other for other in segments if other.base_offset > segment.base_offset]
    for other in later:
        report.bytes_cut += other.size
        if other.size:
            saved = Path(f"{other.path(LOG_SUFFIX)}{CUT_SUFFIX}")
            files.rename(other.path(LOG_SUFFIX), saved)
            report.saved_to.append(saved)
        for path in rename_to_deleted(files, segment.directory, other.base_offset):
            files.unlink(path)
    segments.replace(later, [])
    # What was cut off must not come back beside records that are appended now and take its offsets.
    files.fsync_directory(segment.directory)
    report.bytes_cut += segment.size - position
    if _sound_batch_follows(segment, position):
        report.saved_to.append(_save_tail(files, segment, position))
        files.fsync_directory(segment.directory)
    segment.truncate(position, end_offset)
    segment.sync_log()


def _sound_batch_follows(segment: Segment, position: int) -> bool:
    """Whether the damaged batch's own length leads to a sound one: then it was no torn end."""
    header = segment.region(position, HEADER_SIZE).read()
    if len(header) < HEADER_SIZE:
        return False
    size = HEADER.unpack(header)[1] + LOG_OVERHEAD
    if not HEADER_SIZE <= size < segment.size - position:
        return False
    following = scan_batches(segment.log, position + size, segment.size, check_crc=True)
    return next(following, None) is not None


def _save_tail(files: Files, segment: Segment, position: int) -> Path:
    saved = Path(f"{segment.path(LOG_SUFFIX)}.{position}{CUT_SUFFIX}")
    fd = files.open(saved, create=True)
    try:
        at = position
        while at < segment.size:
            chunk = segment.region(at, min(CHUNK_BYTES, segment.size - at)).read()
            write_fully(files, fd, chunk, at - position)
            at += len(chunk)
        files.fsync(fd)
    finally:
        files.close(fd)
    return saved
