"""[io] A transaction as a context manager: committed at the block's end, aborted when it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from distributedlog.client.errors import ClientError
from distributedlog.client.group_metadata import GroupMetadata
from distributedlog.client.producer.transaction_state import TransactionState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from distributedlog.client.metadata import TopicPartition
    from distributedlog.client.producer.transaction_manager import TransactionManager


class AsyncTransaction:
    """``async with producer.transaction() as transaction``: what is sent meanwhile belongs to it."""

    def __init__(self, manager: TransactionManager) -> None:
        self._manager = manager
        self._is_over = False

    async def __aenter__(self) -> Self:
        await self._manager.begin()
        self._is_over = False
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_over:
            return
        if kind is None:
            try:
                await self._manager.commit()
            except ClientError:
                await self._abort_if_open()
                raise
        else:
            await self._abort_if_open()

    async def send_offsets(self, offsets: Mapping[TopicPartition, Any], group: GroupMetadata | str) -> None:
        """Commit a group's positions with this transaction; `group` is ``consumer.group_metadata()``."""
        metadata = GroupMetadata(group) if isinstance(group, str) else group
        await self._manager.send_offsets(offsets, metadata)

    async def abort(self) -> None:
        """Abort now; the block's end does nothing more."""
        self._is_over = True
        await self._manager.abort()

    async def _abort_if_open(self) -> None:
        if self._manager.state in {TransactionState.OPEN, TransactionState.MUST_ABORT}:
            await self._manager.abort()


class Transaction:
    """``with producer.transaction() as transaction``: what is sent meanwhile belongs to it."""

    def __init__(self, inner: AsyncTransaction, run: Callable[[Any], Any]) -> None:
        self._inner = inner
        self._run = run

    def __enter__(self) -> Self:
        self._run(self._inner.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._inner.__aexit__(kind, error, trace))

    def send_offsets(self, offsets: Mapping[TopicPartition, Any], group: GroupMetadata | str) -> None:
        """Commit a group's positions with this transaction; `group` is ``consumer.group_metadata()``."""
        self._run(self._inner.send_offsets(offsets, group))

    def abort(self) -> None:
        """Abort now; the block's end does nothing more."""
        self._run(self._inner.abort())
