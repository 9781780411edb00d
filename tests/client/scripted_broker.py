"""A broker that answers as a test tells it to: what no real broker can be made to do on demand."""

import asyncio
from contextlib import asynccontextmanager

from distributedlog.client import Address
from distributedlog.wire import APIS, FrameSplitter, decode_request, encode_response
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from distributedlog.wire.k18_api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

ALL_APIS = [ApiVersion(api.key, api.first, api.last) for api in APIS.values()]


class Hang:
    """In place of a response: none, but the connection stays."""


class Close:
    """In place of a response: the connection ends."""


class ScriptedBroker:
    """`answers` maps request classes to functions from a request to a response, `Hang`, `Close` or bytes."""

    def __init__(self, answers=None):
        self.requests = []
        self.versions = []
        self.connections = 0
        self.address = None
        self._answers = {
            ApiVersionsRequest: lambda _: ApiVersionsResponse(api_keys=ALL_APIS),
            MetadataRequest: lambda _: self.metadata(),
            **(answers or {}),
        }
        self._writers = set()
        self._arrived = asyncio.Event()

    async def received(self, count):
        """Until so many requests have come, ApiVersions included."""
        while len(self.requests) < count:
            self._arrived.clear()
            await self._arrived.wait()

    def metadata(self, **fields):
        broker = MetadataResponseBroker(1, self.address.host, self.address.port)
        return MetadataResponse(brokers=[broker], cluster_id="scripted", controller_id=1, **fields)

    def on(self, request_class, answer):
        self._answers[request_class] = answer

    def close_connections(self):
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader, writer):
        self.connections += 1
        self._writers.add(writer)
        splitter = FrameSplitter()
        try:
            while data := await reader.read(65536):
                for frame in splitter.feed(data):
                    header, request = decode_request(frame)
                    self.requests.append(request)
                    self.versions.append(header.api_version)
                    self._arrived.set()
                    if not await self._answer(writer, header, request):
                        return
        except ConnectionError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, writer, header, request):
        answer = self._answers[type(request)](request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        if answer is Close:
            return False
        if answer is Hang:
            return True
        if not isinstance(answer, bytes):
            version = 0 if header.api_key == 18 and answer.error_code == 35 else header.api_version
            answer = encode_response(header.api_key, version, header.correlation_id, answer)
        writer.write(answer)
        await writer.drain()
        return True


@asynccontextmanager
async def scripted_broker(answers=None):
    broker = ScriptedBroker(answers)
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    broker.address = Address(*server.sockets[0].getsockname()[:2])
    try:
        yield broker
    finally:
        server.close()
        broker.close_connections()
        await server.wait_closed()
