"""A listener with a dispatch function in place of a broker, and clients that speak raw frames to it."""

import asyncio
import contextlib

import uvloop

from distributedlog.broker.config import BrokerConfig
from distributedlog.server.addresses import Address
from distributedlog.server.listener import Listener, SharedAmongListeners
from distributedlog.server.request_metrics import RequestMetrics
from distributedlog.wire import ADVERTISED_VERSIONS, APIS, decode_response, encode_request

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
DEADLINE = 30


def run(coroutine, loop="uvloop"):
    """Run to the end, with a deadline; leftover tasks and errors that only reached the loop are failures."""
    problems = []

    async def with_deadline():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        async with asyncio.timeout(DEADLINE):
            return await coroutine

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        result = runner.run(with_deadline())
    assert problems == []
    return result


@contextlib.asynccontextmanager
async def serving(dispatch, host="127.0.0.1", **config):
    loop = asyncio.get_running_loop()
    broker_config = BrokerConfig(**config)
    shared = SharedAmongListeners(loop, lambda: broker_config, RequestMetrics())
    served = {key: (api.first, api.last) for key, api in APIS.items()}
    listener = Listener(Address("PLAINTEXT", host, 0), dispatch, served, shared)
    listener.bind()
    await listener.start()
    try:
        yield listener
    finally:
        await listener.drain(0.2)


class RawClient:
    """Frames in, frames out."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer

    def send(self, api_key, version, correlation_id, message, client_id="test"):
        self.write(encode_request(api_key, version, correlation_id, client_id, message))

    def write(self, data):
        self.writer.write(data)

    async def frame(self):
        size = int.from_bytes(await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def response(self, api_key, version):
        return decode_response(api_key, version, await self.frame())

    async def closed(self):
        """Wait until the broker has closed, and give what it still sent."""
        try:
            return await self.reader.read()
        except ConnectionError:
            return b""

    async def close(self):
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


@contextlib.asynccontextmanager
async def client_of(listener, host="127.0.0.1", limit=2**16):
    reader, writer = await asyncio.open_connection(host, listener.address.port, limit=limit)
    client = RawClient(reader, writer)
    try:
        yield client
    finally:
        await client.close()


async def until(condition):
    """Let the loop turn until the condition holds; `run` has the deadline."""
    while not condition():  # noqa: ASYNC110  (conditions that nothing announces)
        await asyncio.sleep(0)


__all__ = ["ADVERTISED_VERSIONS", "RawClient", "client_of", "run", "serving", "until"]
