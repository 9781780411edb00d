"""Who changes the cluster's metadata: one decision after the other, each on the disk before it is true.

A decision is a function of the image (`cluster/` has them): it gives an answer and the records that it wants
written. Those that come in while others are on their way to the disk wait, and then go there together; each
sees what was decided before it, so two requests for one name never both succeed. When the disk has the
records the image is replaced, the partitions follow (`broker/topic_logs.py`), and the answers go out.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distributedlog.broker.broker_features import FEATURE_LEVELS
from distributedlog.broker.dynamic_config import effective_config
from distributedlog.cluster.image import ClusterImage
from distributedlog.cluster.replay import replay
from distributedlog.cluster.snapshot import topic_records
from distributedlog.log import FlushJob
from distributedlog.wire.values.metadata_records import (
    FeatureLevelRecord,
    MetadataRecord,
    RemoveTopicRecord,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker

logger = logging.getLogger("distributedlog.broker")

Decision = Callable[[ClusterImage], tuple[Any, Sequence[MetadataRecord]]]
Done = Callable[[Any], None]
Failed = Callable[[BaseException], None]


@dataclass(slots=True)
class _Submitted:
    decide: Decision
    done: Done
    failed: Failed | None
    answer: Any = None

    def fail(self, error: BaseException) -> None:
        if self.failed is None:
            logger.error("a change of the metadata was not made: %s", error)
        else:
            self.failed(error)


class Controller:
    """The queue of decisions, and the round that is on its way to the disk."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._waiting: deque[_Submitted] = deque()
        self._is_busy = False
        self._is_scheduled = False
        self._is_closed = False
        self._snapshot_running = False

    def submit(self, decide: Decision, done: Done, failed: Failed | None = None) -> None:
        """Have a decision made; ``done`` gets its answer when its records are true, ``failed`` the error
        when they could not be written (and then nothing has changed)."""
        submitted = _Submitted(decide, done, failed)
        if self._is_closed:
            submitted.fail(ControllerClosed())
            return
        self._waiting.append(submitted)
        self._schedule()

    def _schedule(self) -> None:
        if self._waiting and not self._is_busy and not self._is_scheduled:
            self._is_scheduled = True
            self._broker.scheduler.call_soon(self._begin_round)

    # -- a round --------------------------------------------------------------------------------------

    def _begin_round(self) -> None:
        self._is_scheduled = False
        if self._is_busy or self._is_closed:
            return
        image = self._broker.image
        decided: list[_Submitted] = []
        records: list[MetadataRecord] = []
        removes_topics = False
        while self._waiting and not removes_topics:
            # A name is free when its old logs are out of the way: a deletion ends the round.
            submitted = self._waiting.popleft()
            try:
                submitted.answer, wanted = submitted.decide(image)
                if wanted:
                    image = replay(image, wanted, image.end_offset + len(wanted))
                    records.extend(wanted)
                    removes_topics = any(isinstance(record, RemoveTopicRecord) for record in wanted)
                decided.append(submitted)
            except Exception as error:
                logger.exception("a decision about the metadata failed")
                submitted.fail(error)
        if not records:
            self._answer(decided)
            self._schedule()
            return
        self._is_busy = True
        self._prepare(image, records, decided)

    def _prepare(self, image: ClusterImage, records: list[MetadataRecord], decided: list[_Submitted]) -> None:
        """New partitions get their directories first: what cannot be stored is not promised."""
        prepare = self._broker.topic_logs.begin_prepare(self._broker.image, image)
        if prepare is None:
            self._write(image, records, decided)
            return
        self._broker.scheduler.run_in_thread(
            prepare,
            lambda _: self._write(image, records, decided),
            lambda error: self._fail_round(decided, error),
        )

    def _write(self, image: ClusterImage, records: list[MetadataRecord], decided: list[_Submitted]) -> None:
        broker = self._broker
        if self._is_closed:
            self._fail_round(decided, ControllerClosed())
            return
        try:
            job = broker.metadata_log.append(records, broker.scheduler.now_ms())
        except Exception as error:  # noqa: BLE001 - a full disk as well as a bug: whoever asked must hear of it
            self._fail_round(decided, error)
            return
        if job is None:
            self._complete(image, None, decided)
            return

        def failed(error: BaseException) -> None:
            # Whether the records are kept shows at the next start; until then nothing may follow them.
            broker.metadata_log.log.fail(error)
            self._fail_round(decided, error)

        broker.scheduler.run_in_thread(job.run, lambda _: self._complete(image, job, decided), failed)

    def _complete(self, image: ClusterImage, job: FlushJob | None, decided: list[_Submitted]) -> None:
        self._is_busy = False
        if self._is_closed:
            self._fail_round(decided, ControllerClosed())
            return
        self._broker.metadata_log.completed(job)
        self.publish(image)
        self._answer(decided)
        self._snapshot_if_due()
        self._schedule()

    def _answer(self, decided: list[_Submitted]) -> None:
        for submitted in decided:
            try:
                submitted.done(submitted.answer)
            except Exception:
                logger.exception("whoever asked for a change of the metadata failed on its answer")

    def _fail_round(self, decided: list[_Submitted], error: BaseException) -> None:
        self._is_busy = False
        for submitted in decided:
            submitted.fail(error)
        self._schedule()

    # -- the image ------------------------------------------------------------------------------------

    def publish(self, image: ClusterImage) -> None:
        """Make an image the broker's: first the partitions, then whoever else wants to know."""
        broker = self._broker
        old, broker.image = broker.image, image
        broker.replace_config(effective_config(broker.static_config, image, broker.node_id))
        broker.topic_logs.follow(old, image)
        for listener in broker.on_image_changed:
            try:
                listener(old, image)
            except Exception:
                logger.exception("something failed to follow the cluster's metadata")

    def bootstrap(self) -> None:
        """Give a cluster without metadata its features, so that Kafka's tools know how to read it, and the
        topics whose logs are in the directory already."""
        image = self._broker.image
        records: list[MetadataRecord] = [
            FeatureLevelRecord(name, level)
            for name, level in FEATURE_LEVELS.items()
            if name not in image.features
        ]
        if not image.features:
            for topic in self._broker.topic_logs.found_topics():
                logger.info("topic %s was found in the data directory", topic.name)
                records.extend(topic_records(topic))
        if records:
            self.submit(lambda _: (None, records), lambda _: None)

    def _snapshot_if_due(self) -> None:
        broker = self._broker
        if not broker.metadata_log.snapshot_is_due or self._snapshot_running:
            return
        self._snapshot_running = True
        job = broker.metadata_log.begin_snapshot(broker.image, broker.scheduler.now_ms())

        def written(_: None) -> None:
            self._snapshot_running = False
            if not self._is_closed:
                gone = broker.metadata_log.snapshot_written(job, broker.scheduler.now_ms())
                broker.upkeep.remove_later(gone, 0)

        def failed(error: BaseException) -> None:
            self._snapshot_running = False
            logger.error("no snapshot of the metadata could be written: %s", error)

        broker.scheduler.run_in_thread(job.run, written, failed)

    def close(self) -> None:
        """Decide nothing more; what waits hears of it."""
        self._is_closed = True
        waiting, self._waiting = self._waiting, deque()
        for submitted in waiting:
            submitted.fail(ControllerClosed())


class ControllerClosed(Exception):
    """The broker is stopping."""

    def __init__(self) -> None:
        super().__init__("the broker is stopping")
