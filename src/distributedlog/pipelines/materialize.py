"""A changelog topic as a table of the latest value per key, to be asked while it runs and afterwards.

The table is the state of the running query: Spark keeps it in RocksDB and in the checkpoint, where
`distributedlog.pipelines.query` looks a key up without disturbing it.
"""

from pyspark.sql import DataFrame

from distributedlog.pipelines.latest import latest_per_key


def materialize(frame: DataFrame, *, order: str = "offset", deleted: bool = False) -> DataFrame:
    """The latest value per key. A tombstone deletes its key: with `deleted` such rows come out, value null.

    Whoever writes the result to another topic wants them, since there they delete in turn. In the state a
    deleted key stays as its tombstone; it may not be forgotten, or an older record that comes late would
    bring the key back.
    """
    table = latest_per_key(frame, order)
    return table if deleted else table.where("value IS NOT NULL")
