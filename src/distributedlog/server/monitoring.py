"""Everything behind the second port, and nothing of it when there is none: an idle node has no timers."""

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from typing import TYPE_CHECKING

from distributedlog.server.addresses import Address
from distributedlog.server.event_loop import DelayProbe
from distributedlog.server.http_door import HttpDoor
from distributedlog.server.pages import NodePages
from distributedlog.server.process_load import SAMPLE_INTERVAL_SECONDS, LoadMeter
from distributedlog.server.request_metrics import RequestMetrics

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker


class Monitoring:
    """`bind`, then `start` once there is a broker to look at."""

    def __init__(self, address: Address, loop: AbstractEventLoop, metrics: RequestMetrics) -> None:
        self._loop = loop
        self._metrics = metrics
        self._door = HttpDoor(address, {}, loop)
        self._probe = DelayProbe(loop, metrics.event_loop_delay.observe)
        self._timer: TimerHandle | None = None

    @property
    def address(self) -> Address:
        return self._door.address

    def bind(self) -> None:
        self._door.bind()

    async def start(self, broker: "Broker", connections_open: Callable[[], int]) -> None:
        def totals() -> tuple[int, int, int]:
            records = sum(each.log.log_end_offset for each in broker.partitions)
            return self._metrics.bytes_received, self._metrics.bytes_sent, records

        self._meter = LoadMeter(broker.directory.path, totals)
        pages = NodePages(broker, self._metrics, self._meter, connections_open)
        self._door.pages = pages.by_path()
        self._probe.start()
        self._tick()
        await self._door.start()

    def close(self) -> None:
        self._probe.stop()
        if self._timer is not None:
            self._timer.cancel()
        self._door.close()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(SAMPLE_INTERVAL_SECONDS, self._tick)
        self._meter.tick()
