"""[io] One broker that a producer writes to: its connection, and how much is on its way there."""

import asyncio
import random
from collections.abc import Callable

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.connection import Connection
from distributedlog.client.errors import ClientError
from distributedlog.client.retry import Backoff

PRODUCE = "produce"


class Destination:
    """`ready` is called when a connection was made, `failed` with what it failed of."""

    def __init__(
        self,
        client: ClusterClient,
        node_id: int,
        ready: Callable[[], object],
        failed: Callable[["Destination", ClientError], object],
    ) -> None:
        self.node_id = node_id
        self.connection: Connection | None = None
        self.in_flight = 0
        self.quiet_until = 0.0
        self._client = client
        self._ready = ready
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._opening: asyncio.Task[None] | None = None
        self._draining: asyncio.Task[None] | None = None
        self._backoff = self._new_backoff()

    def takes(self, now: float, in_flight_max: int) -> bool:
        """Whether a request may leave now. Where it is the connection that is missing, one is made."""
        if self.in_flight >= in_flight_max or now < self.quiet_until:
            return False
        connection = self.connection
        if connection is None or connection.is_closed:
            if self._opening is None:
                self._opening = self._loop.create_task(self._open())
            return False
        if connection.is_congested:
            if self._draining is None:
                self._draining = self._loop.create_task(self._wait_until_writable(connection))
            return False
        return True

    async def close(self) -> None:
        tasks = [task for task in (self._opening, self._draining) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _open(self) -> None:
        try:
            self.connection = await self._client.connection_to(self.node_id, PRODUCE)
        except ClientError as error:
            self.quiet_until = self._loop.time() + self._backoff.next_ms() / 1000
            self._opening = None
            self._failed(self, error)
            return
        self._opening = None
        self._backoff = self._new_backoff()
        self._ready()

    async def _wait_until_writable(self, connection: Connection) -> None:
        await connection.writable()
        self._draining = None
        self._ready()

    def _new_backoff(self) -> Backoff:
        settings = self._client.settings
        return Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random)
