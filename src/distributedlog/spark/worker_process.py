"""[io] What makes Spark's Python workers quick at small tasks."""

import gc
import sys
from typing import Final

_DAEMON: Final = "pyspark.daemon"

_is_settled = False


def settle() -> None:
    """Spare the collector what this worker has loaded for good; to be called when all of it is loaded.

    Spark's daemon collects garbage behind each task before it takes the next one. With compiled code, Arrow
    and Spark's own modules in memory that takes 35 to 48 ms, longer than the rest of a micro-batch's work in
    Python. In any other process than such a worker nothing is done: it is not ours.
    """
    global _is_settled  # noqa: PLW0603  (one per process)
    if _is_settled:
        return
    _is_settled = True
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if getattr(main, "name", "") == _DAEMON:
        gc.collect()
        gc.freeze()
