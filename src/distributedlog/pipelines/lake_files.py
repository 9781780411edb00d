"""[io] Files of a lake, by Hadoop's file systems: a local directory, HDFS, S3, whatever Spark can write to.

Only what a commit needs: names, a rename, a small file written whole. It runs in the driver.
"""

import json
from typing import TYPE_CHECKING, Any

from distributedlog.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class LakeFiles:
    """The files below `root`; all paths are relative to it."""

    def __init__(self, spark: "SparkSession", root: str) -> None:
        jvm: Any = getattr(spark, "_jvm", None)
        if jvm is None:
            raise PipelineError("archive needs a classic Spark session: Spark Connect shows no file system")
        self._jvm = jvm
        self._root = jvm.org.apache.hadoop.fs.Path(root)
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._files = self._root.getFileSystem(configuration)
        self._root = self._files.makeQualified(self._root)

    def path(self, relative: str) -> str:
        """The whole path, for Spark's own readers and writers."""
        return str(self._at(relative).toString())

    def exists(self, relative: str) -> bool:
        return bool(self._files.exists(self._at(relative)))

    def files_below(self, relative: str, suffix: str) -> list[tuple[str, int]]:
        """Names (relative to the root) and sizes of the files in a directory and those below it."""
        if not self.exists(relative):
            return []
        found = []
        iterator = self._files.listFiles(self._at(relative), True)
        while iterator.hasNext():
            status = iterator.next()
            name = str(status.getPath().toString()).removeprefix(f"{self._root.toString()}/")
            if name.endswith(suffix):
                found.append((name, int(status.getLen())))
        return sorted(found)

    def files_in(self, relative: str) -> list[tuple[str, int]]:
        """Names (relative to the root) and sizes of the files in one directory."""
        if not self.exists(relative):
            return []
        statuses = self._files.listStatus(self._at(relative))
        return sorted(
            (f"{relative}/{status.getPath().getName()}", int(status.getLen()))
            for status in statuses
            if status.isFile()
        )

    def rename(self, source: str, target: str) -> None:
        """Within the lake; the target's directory is made."""
        destination = self._at(target)
        self._files.mkdirs(destination.getParent())
        if not self._files.rename(self._at(source), destination):
            raise PipelineError(f"{self.path(source)} cannot be renamed to {destination.toString()}")

    def delete(self, relative: str) -> None:
        """A file, or a directory with all in it; what is not there is gone already."""
        self._files.delete(self._at(relative), True)

    def read_json(self, relative: str) -> Any:
        """What `write_json` wrote; None where nothing is."""
        if not self.exists(relative):
            return None
        stream = self._files.open(self._at(relative))
        try:
            return json.loads(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write_json(self, relative: str, content: object) -> None:
        """Whole or not at all: written beside it and renamed, after what is in its place is taken away."""
        waiting = f"{relative}.tmp"
        stream = self._files.create(self._at(waiting), True)
        try:
            stream.write(bytearray(json.dumps(content).encode()))
            stream.hsync()
        finally:
            stream.close()
        self._files.delete(self._at(relative), False)
        self.rename(waiting, relative)

    def _at(self, relative: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, relative) if relative else self._root
