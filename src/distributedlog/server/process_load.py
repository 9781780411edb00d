"""What the node uses of its machine: processor, memory, disk, network, and how many records come in."""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Rates are those since the older of two samples, which is between one and two intervals ago.
SAMPLE_INTERVAL_SECONDS: Final = 5.0


def resident_memory_bytes() -> int:
    """Memory that the process has in RAM."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource  # noqa: PLC0415  (where there is no /proc)
        import sys  # noqa: PLC0415

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """Totals at one moment."""

    at_seconds: float
    processor_seconds: float
    bytes_received: int
    bytes_sent: int
    records_appended: int


@dataclass(frozen=True, slots=True)
class Load:
    """Rates over the last seconds, and levels now."""

    processor_share: float
    resident_memory_bytes: int
    disk_total_bytes: int
    disk_free_bytes: int
    received_bytes_per_second: float
    sent_bytes_per_second: float
    records_per_second: float


class LoadMeter:
    """``totals`` gives bytes received, bytes sent and records appended since the start."""

    def __init__(self, directory: Path, totals: Callable[[], tuple[int, int, int]]) -> None:
        self._directory = directory
        self._totals = totals
        self._older = self._newer = self._sample()

    def tick(self) -> None:
        """To be called every `SAMPLE_INTERVAL_SECONDS`."""
        self._older, self._newer = self._newer, self._sample()

    def load(self) -> Load:
        now, before = self._sample(), self._older
        seconds = max(now.at_seconds - before.at_seconds, 1e-3)
        disk = shutil.disk_usage(self._directory)
        return Load(
            processor_share=(now.processor_seconds - before.processor_seconds) / seconds,
            resident_memory_bytes=resident_memory_bytes(),
            disk_total_bytes=disk.total,
            disk_free_bytes=disk.free,
            received_bytes_per_second=(now.bytes_received - before.bytes_received) / seconds,
            sent_bytes_per_second=(now.bytes_sent - before.bytes_sent) / seconds,
            records_per_second=max(now.records_appended - before.records_appended, 0) / seconds,
        )

    def _sample(self) -> Sample:
        return Sample(time.monotonic(), time.process_time(), *self._totals())
