"""The owner's two steps of a compaction: making the job, and taking its result in [io].

The step between, `CompactionJob.run` in `cleaner.py`, may run in any thread.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from distributedlog.log.cleaner import CompactionJob, LastOfProducer
from distributedlog.log.compaction_plan import plan_compaction
from distributedlog.log.errors import InvalidConfig
from distributedlog.log.offset_journal import OffsetKind
from distributedlog.log.swap import carry_out, is_intended, write_intent

if TYPE_CHECKING:
    from distributedlog.log.partition_log import PartitionLog


def begin_compaction(log: "PartitionLog", now_ms: int, *, even_if_little: bool) -> CompactionJob | None:
    """What a compaction has to do; None when it is not worth it, or there is nothing to do.

    Only what is on the disk is compacted: a record must not make way for one that may yet be lost.
    And the disk has to know of it, so that recovery does not take the gaps for a loss.
    """
    if not log.config.compact:
        raise InvalidConfig(
            "cleanup.policy",
            log.config.cleanup_policy,
            "only a log with cleanup.policy=compact is compacted: records without a key would be lost",
        )
    views = [log.view(segment) for segment in log.segments]
    plan = plan_compaction(
        views,
        log.config,
        now_ms=now_ms,
        first_dirty_offset=log.first_dirty_offset,
        first_unstable_offset=min(log.last_stable_offset, log.recovery_point),
    )
    if plan is None or not (even_if_little or plan.is_worth_it(log.config)):
        return None
    log.note_recovery_point(durably=True)
    return CompactionJob(
        files=log.files,
        directory=log.directory,
        config=log.config,
        plan=plan,
        segments=[
            (view, segment)
            for view, segment in zip(views, log.segments, strict=True)
            if view.base_offset < plan.end_offset
        ],
        aborted=log.aborted_transactions(log.log_start_offset, plan.end_offset),
        last_of_producers={
            entry.producer_id: LastOfProducer(
                entry.batches[-1].last_offset if entry.batches else None, entry.producer_epoch
            )
            for entry in log.producer_states.entries()
        },
        now_ms=now_ms,
        cuts=log.cuts,
    )


def complete_compaction(log: "PartitionLog", job: CompactionJob) -> list[Path]:
    """Swap the compacted segments in; returns the files that may be removed after a delay.

    A group of which retention took a segment meanwhile is left as it is. After a truncation all are: a
    segment that was cut and filled anew has the same name and other records.
    """
    if job.cuts != log.cuts:
        job.discard()
        return []
    gone: list[Path] = []
    present = {id(segment) for segment in log.segments.sealed}
    whole = [old for old in job.groups if all(id(segment) in present for segment in old)]
    if whole:
        log.note_offset(OffsetKind.COMPACTED_TO, job.clean_to_offset, True)
    for old in whole:
        base_offset = old[0].base_offset
        old_base_offsets = [segment.base_offset for segment in old]
        try:
            write_intent(log.files, log.directory, base_offset, old_base_offsets)
        except OSError as error:
            if is_intended(log.directory, base_offset):
                raise log.writer.go_offline(error) from error
            job.discard()
            raise log.writer.translate(error) from error
        try:
            gone += carry_out(log.files, log.directory, base_offset, old_base_offsets)
        except OSError as error:
            raise log.writer.go_offline(error) from error
        log.segments.replace(old, [log.writer.open_segment(base_offset, job.now_ms)])
    if len(whole) == len(job.groups):
        log.first_dirty_offset = job.clean_to_offset
        log.note_offset(OffsetKind.FIRST_DIRTY_OFFSET, job.clean_to_offset, False)
    job.discard()
    return gone
