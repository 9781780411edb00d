"""Requests of one record each over many connections: `python -m bench.load_requests …` prints JSON.

Every connection has one request on its way and sends the next when it is answered. The answer's error code
is looked at where it stands in the bytes, so that the load costs its own core as little as possible.
"""

import argparse
import json
import select
import socket
import struct
import time

from bench.raw_client import PRODUCE, PRODUCE_VERSION, RawClient, one_record
from distributedlog.wire import decode_response, encode_request

_SIZE = struct.Struct(">i")
_RECEIVE_BYTES = 4096


def run(bootstrap: str, topic: str, connections: int, seconds: float, acks: int, size: int) -> float:
    """Acknowledged requests a second."""
    request = encode_request(PRODUCE, PRODUCE_VERSION, 1, "bench", one_record(topic, acks=acks, size=size))
    clients = [RawClient(bootstrap) for _ in range(connections)]
    clients[0].wait_for_leaders([topic])
    poll = select.epoll()
    by_fd: dict[int, socket.socket] = {}
    for client in clients:
        client.socket.setblocking(False)
        by_fd[client.socket.fileno()] = client.socket
        poll.register(client.socket, select.EPOLLIN)
    begun = time.perf_counter()
    for each in by_fd.values():
        each.send(request)
    answered = 0
    deadline = begun + seconds
    response = b""
    while (now := time.perf_counter()) < deadline:
        for fd, _ in poll.poll(1.0):
            each = by_fd[fd]
            response = each.recv(_RECEIVE_BYTES)
            if _SIZE.unpack_from(response)[0] + _SIZE.size != len(response):
                raise RuntimeError(f"not a whole response: {response!r}")
            answered += 1
            each.send(request)
    _, last = decode_response(PRODUCE, PRODUCE_VERSION, response[_SIZE.size :])
    if last.responses[0].partition_responses[0].error_code:
        raise RuntimeError(f"not acknowledged: {last}")
    return answered / (now - begun)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--acks", type=int, default=-1)
    parser.add_argument("--size", type=int, default=100)
    arguments = parser.parse_args()
    rate = run(
        arguments.bootstrap,
        arguments.topic,
        arguments.connections,
        arguments.seconds,
        arguments.acks,
        arguments.size,
    )
    print(json.dumps({"requests_per_second": rate}))


if __name__ == "__main__":
    main()
