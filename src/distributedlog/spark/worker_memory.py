"""[io] Sparing Spark's reused Python workers a search of all memory after each piece of work.

A worker calls ``gc.collect()`` whenever it has finished something, and that looks at every object there is.
The modules that are loaded here (numba above all) are a few hundred thousand of them: 65 ms of a core, four
times in a micro-batch. They live as long as the process, so the collector is told once to leave them alone.
"""

import gc
import sys
from pathlib import Path

_is_settled = False


def settle() -> None:
    """Call after everything was loaded that a worker will need; does nothing in any other process."""
    global _is_settled  # noqa: PLW0603  (once for each process)
    if _is_settled or not is_worker():
        return
    _is_settled = True
    gc.collect()
    gc.freeze()


def is_worker() -> bool:
    """Whether this process is one of Spark's Python workers, whose memory is nobody else's business."""
    program = Path(sys.argv[0]) if sys.argv else Path()
    return program.name in {"daemon.py", "worker.py"} and program.parent.name == "pyspark"
