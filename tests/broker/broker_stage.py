"""A whole `Broker` over a real directory, on a clock and threads that a test moves; requests go through the
codec, so that what a handler returns is also what the version can carry."""

import random
from dataclasses import dataclass

from tests.broker.fake_scheduler import FakeScheduler

from distributedlog.broker.broker import Broker
from distributedlog.broker.config import BrokerConfig
from distributedlog.broker.context import Client, RequestContext
from distributedlog.broker.dispatch import dispatch
from distributedlog.broker.pending import Pending
from distributedlog.log import LogDirectory
from distributedlog.log.files import REAL_FILES
from distributedlog.wire import APIS, decode_request, decode_response, encode_request, encode_response
from distributedlog.wire.apis import Api


@dataclass
class Waiting:
    """A request whose answer had not come."""

    responses: list

    @property
    def is_done(self):
        return bool(self.responses)


class BrokerStage:
    """``ask`` sends a request and runs everything that is due; ``restart`` and ``crash`` bring up another
    broker over the same directory."""

    def __init__(self, path, *, configs=None, files=REAL_FILES, chance=None):
        self.path = path
        self.configs = configs or {}
        self.files = files
        self.scheduler = FakeScheduler(chance=chance)
        self.broker = None
        self.starts = 0
        self.start()

    def start(self):
        self.directory = LogDirectory(self.path, files=self.files, clock_ms=self.scheduler.now_ms)
        config = BrokerConfig.from_kafka(self.configs)
        self.starts += 1
        self.broker = Broker(config, self.scheduler, self.directory, chance=random.Random(self.starts))
        self.broker.advertised = [("PLAINTEXT", "broker.test", 9092)]
        self.broker.start()
        self.scheduler.run()

    def close(self):
        self.broker.close()
        self.scheduler.run()

    def restart(self):
        self.close()
        self.scheduler = FakeScheduler(self.scheduler.time_ms)
        self.start()

    def crash(self):
        """The process is killed: nothing is closed, and what threads had not begun is not done."""
        self.broker.directory.abandon()
        self.scheduler = FakeScheduler(self.scheduler.time_ms)
        self.start()

    @property
    def image(self):
        return self.broker.image

    def send(self, api_key, request, version=None, client_id="test"):
        """The request through the codec to the handler; a `Waiting` with the response through the codec."""
        api: Api = APIS[api_key]
        version = api.last if version is None else version
        frame = encode_request(api_key, version, 1, client_id, request)
        _, decoded = decode_request(memoryview(frame)[4:])
        context = RequestContext(
            Client(1, "127.0.0.1", 5000), client_id, api_key, version, self.scheduler.now_ms()
        )
        self.context = context
        waiting = Waiting([])

        def take(response):
            if (
                response is not None
                and not isinstance(response, (str, bytes))
                and hasattr(response, "__slots__")
            ):
                encoded = encode_response(api_key, version, 1, response)
                response = decode_response(api_key, version, memoryview(encoded)[4:])[1]
            waiting.responses.append(response)

        result = dispatch(self.broker, context, decoded)
        if isinstance(result, Pending):
            result.when_done(take)
        else:
            take(result)
        return waiting

    def ask(self, api_key, request, version=None):
        """The response, which must come without time passing."""
        waiting = self.send(api_key, request, version)
        self.scheduler.run()
        assert waiting.is_done, "no answer has come"
        assert len(waiting.responses) == 1
        return waiting.responses[0]
