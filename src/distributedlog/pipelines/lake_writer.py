"""Micro-batches into a lake of plain Parquet files, each exactly once (docs/adr/0025).

A batch is written to the side, then a *commit* is written down: which file becomes which. From there on
there is only forwards: the files are renamed into their places, and a replayed batch that finds its commit
finishes the renames and writes nothing. Without a commit, what a dead attempt wrote to the side is thrown
away. So no record is there twice at any moment, and none is missing once its batch is finished. Names that
begin with ``_`` are invisible to everything that reads Parquet directories.
"""

from typing import Final

from pyspark.sql import DataFrame

from distributedlog.pipelines.archive import PARTITIONS
from distributedlog.pipelines.lake_compaction import Compaction
from distributedlog.pipelines.lake_files import LakeFiles

STAGING: Final = "_staging"
COMMITS: Final = "_commits"
PARQUET: Final = ".parquet"
#: Spark replays the last batch alone; a few more are kept for whoever looks at them.
COMMITS_KEPT: Final = 10


class LakeWriter:
    """For one query, whose id keeps its batches apart from those of others that write to the same place."""

    def __init__(self, files: LakeFiles, query: str, compact_files: int = 0) -> None:
        self._files = files
        self._query = query
        self._compaction = Compaction(files, compact_files)
        self._is_recovered = False

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """For ``foreachBatch``. Returns when every row of the batch is in its place."""
        if not self._is_recovered:
            self._compaction.finish_all()
            self._is_recovered = True
        commit = f"{COMMITS}/{self._query}/{batch_id}.json"
        moves = self._files.read_json(commit)
        if moves is None:
            moves = self._stage(batch, batch_id)
            self._files.write_json(commit, moves)
        for source, target in moves:
            if self._files.exists(source):
                self._files.rename(source, target)
        self._files.delete(self._staging(batch_id))
        self._files.delete(f"{COMMITS}/{self._query}/{batch_id - COMMITS_KEPT}.json")
        for directory in sorted({target.rpartition("/")[0] for _, target in moves}):
            self._compaction.compact(batch.sparkSession, directory)

    def _stage(self, batch: DataFrame, batch_id: int) -> list[tuple[str, str]]:
        """Write the rows to the side; returns what is to be renamed to what."""
        staging = self._staging(batch_id)
        self._files.delete(staging)
        batch.write.partitionBy(*PARTITIONS).parquet(self._files.path(staging))
        moves = []
        for number, (name, _) in enumerate(self._files.files_below(staging, PARQUET)):
            directory = name.removeprefix(f"{staging}/").rpartition("/")[0]
            target = f"{directory}/part-{self._query}-{batch_id:08d}-{number:03d}{PARQUET}"
            moves.append((name, target))
        return moves

    def _staging(self, batch_id: int) -> str:
        return f"{STAGING}/{self._query}/{batch_id}"
