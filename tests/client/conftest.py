"""A client of the session's embedded broker, for what only a real broker can show."""

import asyncio

import pytest

from distributedlog.client import ClientSettings, ClusterClient

QUICK = ClientSettings(retry_backoff_ms=5, retry_backoff_max_ms=50, default_api_timeout_ms=30_000)


@pytest.fixture
def run_with_client(broker):
    """Run an async function with a client; its result is returned."""

    def run(work):
        async def main():
            async with ClusterClient(broker.bootstrap_servers, QUICK) as client:
                return await work(client)

        return asyncio.run(main())

    return run
