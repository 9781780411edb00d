"""Fields as SQL, ``id STRING, amount DOUBLE``, to Spark's type; in the driver, since Java parses them."""

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from distributedlog.pipelines.errors import PipelineError


def struct_of(sql: str, purpose: str) -> StructType:
    """PipelineError where it is none; `purpose` says whose it is."""
    try:
        parsed = StructType.fromDDL(sql)
    except PySparkException as error:
        first_line = str(error).strip().splitlines()[0]
        raise PipelineError(f"{purpose}: {sql!r} is no list of fields: {first_line}") from None
    if not isinstance(parsed, StructType):
        raise PipelineError(f"{purpose}: {sql!r} is no list of fields, as 'id STRING, amount DOUBLE'")
    return parsed
