"""Where Spark looks for a source called ``distributedlog``: a top-level module of this name.

Spark imports every ``pyspark_*`` module it finds when a session first asks for a source, so this one must
be quick and must not fail.
"""

from distributedlog.spark.data_source import DistributedLogDataSource as DefaultSource

__all__ = ["DefaultSource"]
