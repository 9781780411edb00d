"""Small files of one hour into one, in steps that a crash may separate (docs/adr/0025).

The merged file is written to the side, then an *intent* says which files it replaces. Those are renamed
out of sight first and the merged one into it afterwards: for that moment a reader may miss rows of the
hour, but it never sees one twice. What a crash leaves is finished by the next writer.
"""

from typing import TYPE_CHECKING, Final

from distributedlog.pipelines.lake_files import LakeFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTENTS: Final = "_compactions"
MERGING: Final = "_merging"
#: A file of this size is no small file.
LARGE_BYTES: Final = 128 * 1024 * 1024
_LOG_ORDER: Final = ("topic", "partition", "offset")


class Compaction:
    """Merges a directory's small files once there are `files_max` of them; 0 never does."""

    def __init__(self, files: LakeFiles, files_max: int) -> None:
        self._files = files
        self._files_max = files_max

    def compact(self, spark: "SparkSession", directory: str) -> bool:
        """Whether there was something to do."""
        if not self._files_max:
            return False
        small = [
            name
            for name, size in self._files.files_in(directory)
            if size < LARGE_BYTES and _is_visible(name) and name.endswith(".parquet")
        ]
        if len(small) < max(2, self._files_max):
            return False
        merging = f"{MERGING}/{directory}"
        self._files.delete(merging)
        rows = spark.read.parquet(*(self._files.path(name) for name in small)).coalesce(1)
        order = [name for name in _LOG_ORDER if name in rows.columns]
        (rows.sortWithinPartitions(*order) if order else rows).write.parquet(self._files.path(merging))
        ((merged, _),) = self._files.files_below(merging, ".parquet")
        target = f"{directory}/merged-{merged.rpartition('/')[2].removeprefix('part-')}"
        intent = f"{INTENTS}/{directory.replace('/', '_')}.json"
        self._files.write_json(intent, {"replaced": small, "merged": merged, "target": target})
        self._finish(intent)
        return True

    def finish_all(self) -> None:
        """Whatever a crash has left half done."""
        for intent, _ in self._files.files_below(INTENTS, ".json"):
            self._finish(intent)

    def _finish(self, intent: str) -> None:
        """Each step looks whether it was done already."""
        content = self._files.read_json(intent)
        for name in content["replaced"]:
            if self._files.exists(name):
                self._files.rename(name, _hidden(name))
        if self._files.exists(content["merged"]):
            self._files.rename(content["merged"], content["target"])
        for name in content["replaced"]:
            self._files.delete(_hidden(name))
        self._files.delete(intent)


def _is_visible(name: str) -> bool:
    return not name.rpartition("/")[2].startswith(("_", "."))


def _hidden(name: str) -> str:
    directory, _, file = name.rpartition("/")
    return f"{directory}/_{file}"
