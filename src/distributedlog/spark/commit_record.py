"""[pure] What a query writes down with each transaction: the batch, and which of its runs have committed.

It stands in the metadata of a committed offset, whose offset is the batch id. Brokers take 4096 bytes there
(``offset.metadata.max.bytes``), so only the newest runs are kept, shortened: one that is older than the last
64 restarts and still alive is taken for a new one, and then fences as a new one does.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from distributedlog.spark.errors import SparkSourceError

VERSION: Final = 1
NO_BATCH: Final = -1
RUNS_MAX: Final = 64
_RUN_LENGTH: Final = 16


class UnreadableRecord(SparkSourceError):
    """The group's committed offset was not written by this sink, or by a newer version of it."""


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """``runs`` in the order in which they took over; the last one owns the query."""

    batch_id: int = NO_BATCH
    runs: tuple[str, ...] = ()

    def followed_by(self, batch_id: int, run: str) -> "CommitRecord":
        """The record of the next transaction."""
        run = short(run)
        runs = self.runs if self.runs[-1:] == (run,) else (*self.runs, run)[-RUNS_MAX:]
        return CommitRecord(batch_id, runs)

    def has_superseded(self, run: str) -> bool:
        """Whether another run has committed since this one did."""
        return short(run) in self.runs[:-1] and self.runs[-1] != short(run)

    def metadata(self) -> str:
        return json.dumps({"v": VERSION, "runs": self.runs}, separators=(",", ":"))

    @classmethod
    def parse(cls, batch_id: int, metadata: str | None) -> "CommitRecord":
        try:
            content = json.loads(metadata or "")
            version, runs = content["v"], tuple(content["runs"])
        except (ValueError, TypeError, KeyError):
            raise UnreadableRecord(
                f"the committed offset {batch_id} has metadata that is not from this sink ({metadata!r}): "
                "another consumer group has the name; choose another 'transactionalIdPrefix'"
            ) from None
        if version != VERSION:
            raise UnreadableRecord(
                f"batch {batch_id} was recorded by a newer distributedlog (version {version} of the record); "
                "upgrade this one"
            )
        return cls(batch_id, runs)


def short(run: str) -> str:
    return run.replace("-", "")[:_RUN_LENGTH]


def newest(records: Iterable[CommitRecord]) -> CommitRecord:
    """Each topic has its record, of the last batch that wrote to it; the newest one counts."""
    return max(records, key=lambda record: record.batch_id, default=CommitRecord())
