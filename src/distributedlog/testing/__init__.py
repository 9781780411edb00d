"""A real broker inside of a test: no process, no port to choose, nothing left behind.

    from distributedlog.testing import EmbeddedBroker

    with EmbeddedBroker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

pytest finds the fixtures `broker` and `topic` by itself once distributedlog is installed. It imports this
room for every run of every project, so the broker is imported when it is first named.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.testing.embedded import EmbeddedBroker

__all__ = ["EmbeddedBroker"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from distributedlog.testing import embedded  # noqa: PLC0415 (lazy on purpose)

        return getattr(embedded, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
