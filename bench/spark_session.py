"""The session of the modules that measure Spark, with the jars of Spark's own connector where they are there.

All modules of a run share one Java, and that knows the jars it was started with: whichever comes first has
to name them for all.
"""

from pathlib import Path
from typing import Any

JARS = Path(__file__).parents[1] / ".peers" / "spark"


def bench_session(*, fast_checkpoints: bool = False) -> Any:
    """`local_session` on two cores."""
    from distributedlog.spark.local_session import local_session

    jars = ",".join(map(str, sorted(JARS.glob("*.jar"))))
    settings = {"spark.log.level": "ERROR", **({"spark.jars": jars} if jars else {})}
    return local_session("local[2]", name="bench", settings=settings, fast_checkpoints=fast_checkpoints)
