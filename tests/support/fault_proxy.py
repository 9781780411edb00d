"""A TCP proxy between Kafka clients and a broker that does to requests what bad networks do.

with FaultProxy(seed=7, faults=ALL_FAULTS, share=0.2) as proxy:
    broker started with advertised.listeners=127.0.0.1:{proxy.port}
    proxy.target_port = broker's own port        # may change while clients are connected

It understands frames, so that a fault meets the request that it is meant for: by default Produce only, whose
every loss must be repaired by a retry, and every retry recognised. Which requests are met depends on the seed
and on the order in which they come. TCP neither loses nor doubles bytes in the middle of a stream: what is
lost here takes its connection with it, and what is doubled is a whole request, as a retry would be.
"""

import asyncio
import contextlib
import enum
import threading
from collections import Counter
from random import Random

PRODUCE = 0
DEADLINE_SECONDS = 60


class Fault(enum.Enum):
    LOSE_REQUEST = "the connection is cut, the request never arrives"
    HALF_REQUEST = "half of the request arrives, then the connection is cut"
    LOSE_RESPONSE = "the request arrives, the connection is cut in place of the response"
    HALF_RESPONSE = "half of the response arrives, then the connection is cut"
    SILENCE = "the request arrives, and from now on the connection stays open and silent"
    DELAY = "the response, and all behind it, comes late"
    DOUBLE_REQUEST = "the request arrives twice"
    LATE_REQUEST = "the connection is cut, and the request arrives later, by another one"
    GARBLE_REQUEST = "a byte of the request's last quarter is another"
    GARBLE_RESPONSE = "the response's correlation id is another"


#: What TCP lets happen on one connection.
ALL_FAULTS = tuple(fault for fault in Fault if not fault.name.startswith(("GARBLE", "LATE")))
_OF_RESPONSES = frozenset(
    {Fault.LOSE_RESPONSE, Fault.HALF_RESPONSE, Fault.SILENCE, Fault.DELAY, Fault.GARBLE_RESPONSE}
)


class FaultProxy:
    """Runs in a thread of its own, so that blocking clients can be used in the test's."""

    def __init__(self, *, seed=1, faults=(), share=0.0, faults_max=1000, api_keys=(PRODUCE,), delay=0.05):
        self.target_port = None
        self.port = None
        #: What was done, in order.
        self.met = []
        #: Pairs of responses to a request that arrived twice.
        self.doubled = []
        #: A connection that is about to answer a request of this API answers nothing any more.
        self.silent_from = None
        #: How many answers to requests of an API were kept back because their connection is silent.
        self.withheld = Counter()
        #: How many of the next requests of an API are kept back, with their connections cut.
        self.to_hold = Counter()
        #: Whole frames that were kept back, in order; `release` sends one.
        self.held = []
        self._chance = Random(seed)
        self._faults = tuple(faults)
        self._share = share
        self._faults_max = faults_max
        self._api_keys = frozenset(api_keys)
        self._delay = delay
        self._links = set()
        self._open = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="fault proxy")

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(DEADLINE_SECONDS)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive()

    async def _main(self):
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        listening.close()
        for link in list(self._links):
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    async def _accept(self, reader, writer):
        link = asyncio.current_task()
        self._links.add(link)
        try:
            await self._join(reader, writer)
        except asyncio.CancelledError:
            pass  # the proxy is closing
        finally:
            writer.transport.abort()
            self._links.discard(link)

    async def _join(self, client_reader, client_writer):
        if self.target_port is None:
            return
        try:
            broker_reader, broker_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            return
        link = _Link(self, client_reader, client_writer, broker_reader, broker_writer)
        self._open.add(link)
        try:
            await link.run()
        finally:
            self._open.discard(link)
            broker_writer.close()
            with contextlib.suppress(OSError):
                await broker_writer.wait_closed()

    def choose(self, api_key):
        if api_key not in self._api_keys or len(self.met) >= self._faults_max:
            return None
        if self._chance.random() >= self._share:
            return None
        fault = self._chance.choice(self._faults)
        self.met.append(fault)
        return fault

    def unanswered(self):
        """The APIs of the requests that wait for an answer, connection by connection."""
        return [sorted(link.waiting) for link in list(self._open) if link.waiting]

    def holds(self, api_key, frame):
        """Whether this request is one to keep; then it is kept."""
        if not self.to_hold[api_key]:
            return False
        self.to_hold[api_key] -= 1
        self.held.append(frame)
        return True

    def release(self, frame):
        """Let a request arrive that was kept back, by a connection of its own; the response's frame."""
        sending = asyncio.run_coroutine_threadsafe(self._send_alone(frame), self._loop)
        return sending.result(DEADLINE_SECONDS)

    async def _send_alone(self, frame):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        try:
            writer.write(frame)
            return await _read_frame(reader)
        finally:
            writer.close()

    def send_late(self, frame):
        """Let a request arrive after the delay, if there is a broker then."""

        async def send():
            await asyncio.sleep(self._delay)
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._send_alone(frame)

        task = asyncio.create_task(send())
        self._links.add(task)
        task.add_done_callback(self._links.discard)

    @property
    def delay(self):
        return self._delay


class _Cut(Exception):
    """The link ends here."""


class _Link:
    """One client's connection and the one to the broker that belongs to it."""

    def __init__(self, proxy, client_reader, client_writer, broker_reader, broker_writer):
        self._proxy = proxy
        self._client_reader, self._client_writer = client_reader, client_writer
        self._broker_reader, self._broker_writer = broker_reader, broker_writer
        self._response_faults = {}
        self._doubled = {}
        self._api_keys = {}  # of the requests without a response, by correlation id
        self.is_silent = False

    @property
    def waiting(self):
        return list(self._api_keys.values())

    async def run(self):
        with contextlib.suppress(_Cut, asyncio.IncompleteReadError, ConnectionError):
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._requests())
                    group.create_task(self._responses())
            except* (_Cut, asyncio.IncompleteReadError, ConnectionError):
                pass

    async def _requests(self):
        while True:
            frame = await _read_frame(self._client_reader)
            api_key, correlation_id = int.from_bytes(frame[4:6]), frame[8:12]
            if self._proxy.holds(api_key, frame):
                raise _Cut
            fault = self._proxy.choose(api_key)
            self._api_keys[correlation_id] = api_key
            if fault is Fault.LOSE_REQUEST:
                raise _Cut
            if fault is Fault.LATE_REQUEST:
                self._proxy.send_late(frame)
                raise _Cut
            if fault is Fault.HALF_REQUEST:
                self._broker_writer.write(frame[: len(frame) // 2])
                await self._broker_writer.drain()
                raise _Cut
            if fault is Fault.DOUBLE_REQUEST:
                self._doubled[correlation_id] = None
                frame *= 2
            elif fault is Fault.GARBLE_REQUEST:
                place = len(frame) - len(frame) // 8
                frame = frame[:place] + bytes([frame[place] ^ 0x55]) + frame[place + 1 :]
            elif fault in _OF_RESPONSES:
                self._response_faults[correlation_id] = fault
            self._broker_writer.write(frame)
            await self._broker_writer.drain()

    async def _responses(self):
        while True:
            frame = await _read_frame(self._broker_reader)
            correlation_id = frame[4:8]
            if correlation_id in self._doubled:
                first = self._doubled[correlation_id]
                if first is not None:
                    del self._doubled[correlation_id]
                    self._proxy.doubled.append((first, frame))
                    continue
                self._doubled[correlation_id] = frame
            fault = self._response_faults.pop(correlation_id, None)
            if fault is Fault.LOSE_RESPONSE:
                raise _Cut
            if fault is Fault.HALF_RESPONSE:
                self._client_writer.write(frame[: len(frame) // 2])
                await self._client_writer.drain()
                raise _Cut
            if fault is Fault.GARBLE_RESPONSE:
                frame = frame[:4] + bytes([frame[4] ^ 0x55]) + frame[5:]
            if fault is Fault.DELAY:
                await asyncio.sleep(self._proxy.delay)
            api_key = self._api_keys.pop(correlation_id)
            if fault is Fault.SILENCE or api_key == self._proxy.silent_from:
                self.is_silent = True
            if self.is_silent:
                self._proxy.withheld[api_key] += 1
            else:
                self._client_writer.write(frame)
                await self._client_writer.drain()


async def _read_frame(reader):
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size))
