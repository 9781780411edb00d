"""[io] The administrator's client for programs that block."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from distributedlog.client.admin.async_admin import AsyncAdmin
from distributedlog.client.background import LoopThread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _blocking(
    method: Callable[Concatenate[AsyncAdmin, Parameters], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Admin, Parameters], Result]:
    """The same, and wait for it."""

    @functools.wraps(method)
    def call(self: Admin, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return self._thread.run(method(self._core, *args, **kwargs))

    return call


class Admin:
    """What administrators do; a context manager, for any number of threads.

        with Admin("localhost:9092") as admin:
            admin.create_topic("orders", partitions=6)

    Each method is that of `AsyncAdmin` with the same name. Options are those of `ClientSettings`.
    """

    def __init__(self, bootstrap: str, **options: Any) -> None:
        self._thread = LoopThread("distributedlog-admin")
        try:
            self._core = self._thread.run(_made(bootstrap, options))
        except BaseException:
            self._thread.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and end the thread."""
        if self._thread.is_closed:
            return
        try:
            self._thread.run(self._core.close())
        finally:
            self._thread.close()

    create_topic = _blocking(AsyncAdmin.create_topic)
    delete_topic = _blocking(AsyncAdmin.delete_topic)
    list_topics = _blocking(AsyncAdmin.list_topics)
    describe_topic = _blocking(AsyncAdmin.describe_topic)
    create_partitions = _blocking(AsyncAdmin.create_partitions)

    list_offsets = _blocking(AsyncAdmin.list_offsets)
    delete_records = _blocking(AsyncAdmin.delete_records)
    elect_leaders = _blocking(AsyncAdmin.elect_leaders)
    reassign_partitions = _blocking(AsyncAdmin.reassign_partitions)
    list_reassignments = _blocking(AsyncAdmin.list_reassignments)

    describe_config = _blocking(AsyncAdmin.describe_config)
    alter_config = _blocking(AsyncAdmin.alter_config)

    list_groups = _blocking(AsyncAdmin.list_groups)
    describe_group = _blocking(AsyncAdmin.describe_group)
    delete_group = _blocking(AsyncAdmin.delete_group)
    committed_offsets = _blocking(AsyncAdmin.committed_offsets)
    alter_offsets = _blocking(AsyncAdmin.alter_offsets)
    delete_offsets = _blocking(AsyncAdmin.delete_offsets)

    list_transactions = _blocking(AsyncAdmin.list_transactions)
    describe_transaction = _blocking(AsyncAdmin.describe_transaction)
    describe_producers = _blocking(AsyncAdmin.describe_producers)
    abort_transaction = _blocking(AsyncAdmin.abort_transaction)
    find_hanging_transactions = _blocking(AsyncAdmin.find_hanging_transactions)
    abort_hanging_transaction = _blocking(AsyncAdmin.abort_hanging_transaction)

    describe_acls = _blocking(AsyncAdmin.describe_acls)
    create_acls = _blocking(AsyncAdmin.create_acls)
    delete_acls = _blocking(AsyncAdmin.delete_acls)
    describe_scram_users = _blocking(AsyncAdmin.describe_scram_users)
    set_scram_password = _blocking(AsyncAdmin.set_scram_password)
    delete_scram_user = _blocking(AsyncAdmin.delete_scram_user)
    describe_quotas = _blocking(AsyncAdmin.describe_quotas)
    alter_quota = _blocking(AsyncAdmin.alter_quota)

    describe_cluster = _blocking(AsyncAdmin.describe_cluster)
    describe_log_dirs = _blocking(AsyncAdmin.describe_log_dirs)
    describe_quorum = _blocking(AsyncAdmin.describe_quorum)


async def _made(bootstrap: str, options: dict[str, Any]) -> AsyncAdmin:
    return AsyncAdmin(bootstrap, **options)
