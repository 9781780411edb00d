"""[io] How much each broker has to do, from their HTTP ports, and which partition's leader has least.

A broker's score is 0.4 processor + 0.3 memory + 0.2 disk + 0.1 records a second / 10,000. Of two leaders
drawn by lot the one with the lower score is taken: if all producers took the very lowest, all would go there
at once.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from typing import TYPE_CHECKING, Any, Final

from distributedlog.client.addresses import parse_bootstrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributedlog.client.addresses import Address
    from distributedlog.client.producer.lane import Lane

PROCESSOR: Final = 0.4
MEMORY: Final = 0.3
DISK: Final = 0.2
RECORDS: Final = 0.1
RECORDS_PER_SECOND: Final = 10_000
ANSWER_SIZE_MAX: Final = 64 * 1024 * 1024
ANSWER_SECONDS_MAX: Final = 5.0
_PATH: Final = "/api/metadata"
_logger = logging.getLogger(__name__)


def scores_of(brokers: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """By broker id. Memory is counted against that of the largest broker: what a machine has nobody tells."""
    loads = {int(broker["id"]): broker["load"] for broker in brokers}
    memory_max = max((load["memory_bytes"] for load in loads.values()), default=0) or 1
    return {
        node_id: PROCESSOR * load["processor_share"]
        + MEMORY * load["memory_bytes"] / memory_max
        + DISK * (1 - load["disk_free_bytes"] / (load["disk_total_bytes"] or 1))
        + RECORDS * load["records_per_second"] / RECORDS_PER_SECOND
        for node_id, load in loads.items()
    }


class LoadWatch:
    """Asks every `interval_seconds`, from `start` to `close`. Without an answer all lanes are alike."""

    def __init__(self, metadata_api: str, interval_seconds: float) -> None:
        self.scores: dict[int, float] = {}
        self._addresses = parse_bootstrap(metadata_api)
        self._interval_seconds = interval_seconds
        self._watching: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    def choose(self, lanes: Sequence[Lane]) -> Lane:
        by_leader: dict[int, list[Lane]] = {}
        for lane in lanes:
            if lane.leader_id is not None:
                by_leader.setdefault(lane.leader_id, []).append(lane)
        if not by_leader:
            return random.choice(lanes)
        drawn = random.sample(list(by_leader), min(2, len(by_leader)))
        leader = min(drawn, key=lambda node_id: self.scores.get(node_id, 0.0))
        return random.choice(by_leader[leader])

    async def ask(self) -> None:
        """Ask all addresses once; who does not answer is not counted."""
        answers = await asyncio.gather(*map(_brokers_of, self._addresses), return_exceptions=True)
        brokers: dict[int, Mapping[str, Any]] = {}
        for address, answer in zip(self._addresses, answers, strict=True):
            if isinstance(answer, BaseException):
                _logger.warning("no load from http://%s%s: %s", address, _PATH, answer)
            else:
                brokers |= answer
        try:
            self.scores = scores_of(list(brokers.values()))
        except (KeyError, TypeError, ValueError) as error:
            _logger.warning("what %s says of load cannot be understood: %r", _PATH, error)

    async def _watch(self) -> None:
        while True:
            await self.ask()
            await asyncio.sleep(self._interval_seconds)


async def _brokers_of(address: Address) -> dict[int, Mapping[str, Any]]:
    async with asyncio.timeout(ANSWER_SECONDS_MAX):
        reader, writer = await asyncio.open_connection(address.host, address.port, limit=ANSWER_SIZE_MAX)
        try:
            request = f"GET {_PATH} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
            writer.write(request.encode())
            answer = await reader.read(ANSWER_SIZE_MAX)
            while len(answer) < ANSWER_SIZE_MAX and (more := await reader.read(ANSWER_SIZE_MAX)):
                answer += more
        finally:
            writer.close()
            await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n", 1)[0] + b" ":
        raise ValueError(f"the answer is {head[:50]!r}")
    return {int(broker["id"]): broker for broker in json.loads(body)["brokers"]}
