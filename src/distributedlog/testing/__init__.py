"""A real broker inside of a test: no process, no port to choose, nothing left behind.

    from distributedlog.testing import EmbeddedBroker

    with EmbeddedBroker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

pytest finds the fixtures `broker` and `topic` by itself once distributedlog is installed.
"""

from distributedlog.testing.embedded import EmbeddedBroker

__all__ = ["EmbeddedBroker"]
