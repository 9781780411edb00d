"""What `dlog produce` writes with: a producer for one topic that counts, and ends at the first failure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from distributedlog.client import ClientError
from distributedlog.client.producer.async_producer import AsyncProducer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

MEMORY: Final = 64 * 1024 * 1024
"""What may wait to be acknowledged, and so the largest record; what a topic takes, the broker says."""


class TopicWriter:
    """An async context manager: leaving it waits for all records, or, with an error, for none."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.acknowledged_records = 0
        #: Of their keys and values.
        self.acknowledged_bytes = 0
        #: Told at once what a record failed of: whoever has nothing to send just then would not hear of it.
        self.on_failure: Callable[[Exception], None] | None = None
        self._topic = arguments.topic
        self._failure: ClientError | None = None
        timeout_ms = round(arguments.timeout * 1000)
        self._producer = AsyncProducer(
            arguments.bootstrap,
            acks=arguments.acks,
            compression=arguments.compression,
            batch_size=arguments.batch_size,
            buffer_memory=MEMORY,
            max_request_size=MEMORY,
            max_block_ms=timeout_ms,
            delivery_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
            default_api_timeout_ms=timeout_ms,
            socket_connection_setup_timeout_ms=min(timeout_ms, 10_000),
            allow_auto_create_topics=False,
            client_id="dlog",
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        self.on_failure = None
        await self._producer.close(None if kind is None else 0)
        if kind is None:
            self._check()

    async def partition_count(self) -> int:
        return await self._producer.partitions_for(self._topic)

    async def send(self, value: bytes | None, key: bytes | None, headers: Any, **place: int | None) -> None:
        """Take one record; raises what an earlier one failed of."""
        self._check()
        size = (len(value) if value else 0) + (len(key) if key else 0)
        told = partial(self._delivered, size)
        await self._producer.send(self._topic, value, key=key, headers=headers, on_delivery=told, **place)

    async def flush(self) -> None:
        """Wait until all that was taken is acknowledged."""
        await self._producer.flush()
        self._check()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _delivered(self, size: int, _: object, error: ClientError | None) -> None:
        if error is None:
            self.acknowledged_records += 1
            self.acknowledged_bytes += size
        elif self._failure is None:
            self._failure = error
            if self.on_failure is not None:
                self.on_failure(error)
