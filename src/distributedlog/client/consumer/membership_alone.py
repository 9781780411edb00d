"""[io] A subscription without a group: this consumer reads all partitions of its topics."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from distributedlog.client.consumer.background_task import persist
from distributedlog.client.consumer.news import NewsKind
from distributedlog.client.group_metadata import GroupMetadata
from distributedlog.client.metadata import TopicPartition

if TYPE_CHECKING:
    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.consumer.news import Newsroom
    from distributedlog.client.consumer.topic_watch import TopicWatch


class MembershipAlone:
    def __init__(self, client: ClusterClient, newsroom: Newsroom, watch: TopicWatch) -> None:
        self._client = client
        self._newsroom = newsroom
        self._watch = watch
        self._has_changed = asyncio.Event()
        self._owned: frozenset[TopicPartition] = frozenset()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self, *, is_leaving: bool = True) -> None:
        del is_leaving
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._watch.close()

    def group_metadata(self) -> GroupMetadata:
        return GroupMetadata("")

    def topics_changed(self) -> None:
        self._has_changed.set()

    async def _run(self) -> None:
        await persist(self._client, self._newsroom, "look up topics", self._watch.look)
        self._watch.start()
        while True:
            self._has_changed.clear()
            wanted = frozenset(
                TopicPartition(topic, index)
                for topic, count in self._watch.counts.items()
                for index in range(count)
            )
            if gone := self._owned - wanted:
                await self._newsroom.hand_over(NewsKind.LOST, gone)
            if new := wanted - self._owned:
                await self._newsroom.hand_over(NewsKind.ASSIGNED, new)
            self._owned = wanted
            await self._has_changed.wait()
