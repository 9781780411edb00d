"""``dlog`` over a disk whose fsync takes a while longer: `python -m bench.slow_disk_node MS start …`.

Virtual machines often answer an fsync from the host's memory, in less time than a request takes. What group
commit is for shows on a disk that is one.
"""

import sys
import threading

from distributedlog.cli.main import main
from distributedlog.log.files import Files


def slow_down(fsync_ms: float) -> None:
    """Let every fsync of data take so much longer, without holding the interpreter."""
    fsync = Files.fsync
    never = threading.Event()

    def slow_fsync(self: Files, fd: int) -> None:
        never.wait(fsync_ms / 1000)
        fsync(self, fd)

    Files.fsync = slow_fsync  # type: ignore[method-assign]


if __name__ == "__main__":
    slow_down(float(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
