"""How fetched regions leave: one copy through user space, or sendfile (docs/adr/0010).

A server process answers real Fetch requests over loopback from a log file in the page cache, once with the
broker's `Outbox` and once with one that calls ``sendfile`` on the socket. Clients are processes that do
nothing but receive. What is counted is what the server's core pays, and the rate.
"""

import argparse
import asyncio
import multiprocessing
import os
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.figure import Figure
from distributedlog.broker.config import BrokerConfig
from distributedlog.log.files import REAL_FILES, FileRegion, OpenFile
from distributedlog.server import connection
from distributedlog.server.addresses import Address
from distributedlog.server.listener import Listener, SharedAmongListeners
from distributedlog.server.outbox import Outbox
from distributedlog.server.request_metrics import RequestMetrics
from distributedlog.wire import encode_request
from distributedlog.wire.k01_fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData

FETCH, VERSION = 1, 12
SENDFILE = "sendfile from the file to the socket"
FILE_SIZE = 256 * 1024**2


class SendfileOutbox:
    """The other way: buffers and regions go straight to the socket, in order, past the transport."""

    def __init__(self, transport: Any) -> None:
        self._loop = asyncio.get_running_loop()
        # The loop allows no second watcher on the transport's own descriptor.
        self._socket = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
        self._socket.setblocking(False)
        self._rest: list[Any] = []
        self._is_waiting = False

    @property
    def is_blocked(self) -> bool:
        return self._is_waiting

    @property
    def has_unread_pieces(self) -> bool:
        return bool(self._rest)

    def send(self, data: bytes) -> None:
        self.send_pieces([data])

    def send_pieces(self, pieces: list[Any]) -> None:
        self._rest.extend(pieces)
        if not self._is_waiting:
            self._pump()

    def clear(self) -> None:
        self._rest.clear()
        if self._is_waiting:
            self._loop.remove_writer(self._socket)
        self._socket.close()

    def _pump(self) -> None:
        rest = self._rest
        try:
            while rest:
                piece = rest[0]
                if isinstance(piece, FileRegion):
                    sent = os.sendfile(self._socket.fileno(), piece.file.fd, piece.position, piece.size)
                    left: Any = FileRegion(piece.file, piece.position + sent, piece.size - sent)
                else:
                    sent = self._socket.send(piece, socket.MSG_MORE if len(rest) > 1 else 0)
                    left = memoryview(piece)[sent:]
                if len(left):
                    rest[0] = left
                else:
                    del rest[0]
        except BlockingIOError:
            if not self._is_waiting:
                self._is_waiting = True
                self._loop.add_writer(self._socket, self._pump)
            return
        if self._is_waiting:
            self._is_waiting = False
            self._loop.remove_writer(self._socket)
            self.on_unblocked()

    def on_unblocked(self) -> None:
        """Nobody pipelines here."""


def serve(path: str, outbox: type, region_size: int, socket_buffer: int, pipe: Any) -> None:
    """Answer fetches until told to stop; then report the processor time that it took."""
    import uvloop

    connection.Outbox = outbox  # type: ignore[attr-defined]

    async def main() -> None:
        loop = asyncio.get_running_loop()
        config = BrokerConfig(
            socket_send_buffer_bytes=socket_buffer, socket_receive_buffer_bytes=socket_buffer
        )
        shared = SharedAmongListeners(loop, lambda: config, RequestMetrics())
        file = OpenFile.read_only(REAL_FILES, Path(path))
        position = 0

        def dispatch(_context: Any, _request: Any) -> FetchResponse:
            nonlocal position
            region = FileRegion(file, position, region_size)
            position = (position + region_size) % (FILE_SIZE - region_size)
            partition = PartitionData(0, high_watermark=1, records=region)
            return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])

        listener = Listener(Address("PLAINTEXT", "127.0.0.1", 0), dispatch, {1: (4, 18)}, shared)
        address = listener.bind()
        await listener.start()
        stopped = asyncio.Event()
        loop.add_reader(pipe.fileno(), stopped.set)
        start = time.process_time()
        pipe.send(address.port)
        await stopped.wait()
        pipe.send(time.process_time() - start)
        await listener.drain(0.1)

    uvloop.run(main())


def fetch(port: int, count: int, barrier: Any) -> None:
    """Ask, receive all of it, ask again."""
    request = encode_request(FETCH, VERSION, 1, "bench", FetchRequest())
    buffer = memoryview(bytearray(4 * 1024**2))
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        barrier.wait()
        for _ in range(count):
            client.sendall(request)
            missing = 4
            while missing:
                missing -= client.recv_into(buffer[4 - missing :], missing)
            missing = int.from_bytes(buffer[:4])
            while missing:
                missing -= client.recv_into(buffer, missing)


def measure(path: str, outbox: type, region_size: int, clients: int, total: int) -> tuple[float, float]:
    """Bytes a second that arrived, and processor seconds of the server for each gigabyte."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(path, outbox, region_size, -1, theirs))
    server.start()
    port = ours.recv()
    count = max(total // region_size // clients, 1)
    barrier = context.Barrier(clients + 1)
    processes = [context.Process(target=fetch, args=(port, count, barrier)) for _ in range(clients)]
    for process in processes:
        process.start()
    barrier.wait()
    start = time.perf_counter()
    for process in processes:
        process.join()
    elapsed = time.perf_counter() - start
    ours.send(None)
    cpu = ours.recv()
    server.join()
    sent = count * clients * region_size
    return sent / elapsed, cpu / (sent / 1e9)


SHAPES = ((1024, 4, 2**24), (16 * 1024, 4, 2**28), (1024**2, 1, 2**30), (1024**2, 4, 2**30))


def collect(quick: bool) -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "0.log"
        path.write_bytes(os.urandom(1024**2) * (FILE_SIZE // 1024**2))
        for region_size, clients, total in SHAPES:
            label = f"fetch {region_size // 1024} KiB, {clients} client{'s' if clients > 1 else ''}"
            copied, sent = (
                best(str(path), outbox, region_size, clients, total // 64 if quick else total, quick)
                for outbox in (Outbox, SendfileOutbox)
            )
            figures.append(Figure(label, copied[0] / 1e6, "MB/s", ceiling=sent[0] / 1e6, ceiling_is=SENDFILE))
            fetches_per_gb = 1e9 / region_size
            figures.append(
                Figure(
                    f"{label}: server's processor time",
                    copied[1] / fetches_per_gb * 1e6,
                    "µs",
                    ceiling=sent[1] / fetches_per_gb * 1e6,
                    ceiling_is=SENDFILE,
                    higher_is_better=False,
                )
            )
    return figures


def best(
    path: str, outbox: type, region_size: int, clients: int, total: int, quick: bool
) -> tuple[float, float]:
    """The best rate and the least processor time of a few runs."""
    runs = [measure(path, outbox, region_size, clients, total) for _ in range(1 if quick else 4)]
    return max(run[0] for run in runs), min(run[1] for run in runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    for figure in collect(parser.parse_args().quick):
        print(f"{figure.name:45} {figure.value:8.1f} {figure.unit:5} with sendfile {figure.ceiling:8.1f}")
