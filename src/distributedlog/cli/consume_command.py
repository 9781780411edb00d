"""`dlog consume`."""

import argparse
import asyncio
import sys
from typing import BinaryIO, Final

from distributedlog.cli.cluster_work import UsageError, complain, run_work
from distributedlog.cli.consume_start import chosen_partitions, end_offsets, start_offsets
from distributedlog.cli.progress import ProgressBar
from distributedlog.cli.record_formats import InvalidTemplate, record_format
from distributedlog.cli.topic_lookup import find_topics
from distributedlog.client import BrokerError, ClusterClient, TopicPartition
from distributedlog.client.committed import CommittedOffset, commit_offsets, committed_offsets
from distributedlog.client.errors import ClientError
from distributedlog.client.fetcher import FetchedRecords, Fetcher, FetchSettings
from distributedlog.client.group_member import GroupMember
from distributedlog.client.offsets import EARLIEST, list_offsets_at
from distributedlog.wire import ErrorCode

COMMIT_SECONDS: Final = 5.0
MOVED_ON: Final = frozenset(
    {ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS}
)

Offsets = dict[TopicPartition, int]


def consume(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        if arguments.group is not None and arguments.partition:
            raise UsageError("--partition cannot be used with --group: the group shares the partitions out")
        try:
            printer = Printer(arguments)
        except InvalidTemplate as error:
            raise UsageError(str(error)) from None
        with ProgressBar("Reading", is_wanted=not sys.stdout.isatty()) as bar:
            printer.bar = bar
            if arguments.group is None:
                await read_alone(client, arguments, printer)
            else:
                await read_as_member(client, arguments, printer)
        return 0

    return run_work(arguments, work)


class Printer:
    """Prints until `--count` records are out."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.bar: ProgressBar | None = None
        self._format = record_format("json" if arguments.json else arguments.format, arguments.template)
        self._count: int | None = arguments.count
        self._remaining: int | None = arguments.count
        self._output: BinaryIO = sys.stdout.buffer
        self._records = 0
        self._size = 0

    @property
    def is_done(self) -> bool:
        return self._remaining == 0

    def print(self, fetched: FetchedRecords, end: int | None) -> int:
        """Print what lies before `end`; returns the offset behind what was printed."""
        lines = []
        position = fetched.next_offset if end is None else min(fetched.next_offset, end)
        for record in fetched.records:
            if end is not None and record.offset >= end:
                break
            if self._remaining is not None:
                if self._remaining == 0:
                    position = record.offset
                    break
                self._remaining -= 1
            lines.append(self._format(fetched.partition, record))
        output = b"".join(lines)
        self._output.write(output)
        self._output.flush()
        self._records += len(lines)
        self._size += len(output)
        return position

    def show_progress(self, offsets_passed: int, offsets_due: int | None) -> None:
        """By records where a number of them is asked for, else by offsets."""
        if self.bar is None:
            return
        if self._count is not None:
            self.bar.update(self._records, self._count, self._records, self._size)
        else:
            self.bar.update(offsets_passed, offsets_due, self._records, self._size)


async def read_alone(client: ClusterClient, arguments: argparse.Namespace, printer: Printer) -> None:
    partitions = await chosen_partitions(client, arguments)
    ends = await end_offsets(client, arguments, partitions)
    reading = Reading(client, arguments, await start_offsets(client, arguments, partitions), ends)
    try:
        while reading.is_open and not printer.is_done:
            await reading.print_next(printer)
    finally:
        await reading.close()


async def read_as_member(client: ClusterClient, arguments: argparse.Namespace, printer: Printer) -> None:
    await find_topics(client, dict.fromkeys(arguments.topics))
    member = GroupMember(client, arguments.group, tuple(dict.fromkeys(arguments.topics)))
    try:
        while not printer.is_done:
            partitions = await member.join()
            if await read_assigned(client, arguments, printer, member, partitions):
                return
            if member.failure is not None:
                raise member.failure
    finally:
        await leave(member)


async def read_assigned(
    client: ClusterClient,
    arguments: argparse.Namespace,
    printer: Printer,
    member: GroupMember,
    partitions: list[TopicPartition],
) -> bool:
    """Read until the next rebalance (False), or until all is read that was asked for (True)."""
    committed = await committed_offsets(client, arguments.group)
    ends = await end_offsets(client, arguments, partitions)
    positions = {place: committed[place].offset for place in partitions if place in committed}
    new = [place for place in partitions if place not in committed]
    positions |= await start_offsets(client, arguments, new)
    reading = Reading(client, arguments, positions, ends)
    clock = asyncio.get_running_loop().time
    commit_at = clock() + COMMIT_SECONDS
    rebalance = asyncio.create_task(member.rebalance.wait())
    try:
        while not rebalance.done() and not printer.is_done:
            if not reading.is_open:
                if ends is not None:
                    return True
                await rebalance  # nothing was assigned to this member: it waits for its turn
                break
            await reading.print_next(printer, unless=rebalance)
            if clock() >= commit_at:
                await commit(client, arguments, member, reading)
                commit_at = clock() + COMMIT_SECONDS
        return printer.is_done
    finally:
        rebalance.cancel()
        await reading.close()
        await commit(client, arguments, member, reading)


class Reading:
    """Partitions being read from their positions to their ends."""

    def __init__(
        self, client: ClusterClient, arguments: argparse.Namespace, positions: Offsets, ends: Offsets | None
    ) -> None:
        self.printed: Offsets = {}
        self._client = client
        self._starts = dict(positions)
        self._ends = ends
        self._fetcher = Fetcher(client, positions, FetchSettings(is_read_committed=arguments.committed))
        self._passed: dict[TopicPartition, int] = {}
        self._due = (
            None if ends is None else sum(max(0, ends[place] - positions[place]) for place in positions)
        )
        for partition, position in positions.items():
            self._stop_at_end(partition, position)

    @property
    def is_open(self) -> bool:
        return bool(self._fetcher.positions)

    async def print_next(self, printer: Printer, unless: asyncio.Task[bool] | None = None) -> None:
        """Print what comes next, or nothing once `unless` is done."""
        fetch = asyncio.create_task(self._fetcher.next())
        try:
            await asyncio.wait([fetch, unless] if unless else [fetch], return_when=asyncio.FIRST_COMPLETED)
            if not fetch.done():
                return
            fetched = fetch.result()
        except BrokerError as error:
            if error.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            if not await self._go_on_from_what_is_left():
                raise
            return
        finally:
            fetch.cancel()
        end = None if self._ends is None else self._ends[fetched.partition]
        self.printed[fetched.partition] = printer.print(fetched, end)
        self._passed[fetched.partition] = fetched.next_offset - self._starts[fetched.partition]
        printer.show_progress(sum(self._passed.values()), self._due)
        self._stop_at_end(fetched.partition, fetched.next_offset)

    async def close(self) -> None:
        await self._fetcher.close()

    def _stop_at_end(self, partition: TopicPartition, position: int) -> None:
        if self._ends is not None and position >= self._ends[partition]:
            self._fetcher.drop(partition)

    async def _go_on_from_what_is_left(self) -> bool:
        """Retention was faster than we: say what is lost, and go on with the first record there is."""
        positions = self._fetcher.positions
        starts = await list_offsets_at(self._client, positions, EARLIEST)
        behind = {place: start for place, start in starts.items() if positions[place] < start}
        for place, start in behind.items():
            complain(f"{place}: offsets {positions[place]} to {start - 1} are deleted; going on at {start}")
            positions[place] = start
            self._stop_at_end(place, start)
        return bool(behind)


async def commit(
    client: ClusterClient, arguments: argparse.Namespace, member: GroupMember, reading: Reading
) -> None:
    """Commit what has been printed. When the group has moved on meanwhile, others print it again."""
    if arguments.no_commit or not reading.printed:
        return
    offsets = {partition: CommittedOffset(offset) for partition, offset in reading.printed.items()}
    try:
        await commit_offsets(client, arguments.group, offsets, member.membership)
    except BrokerError as error:
        if error.code not in MOVED_ON:
            raise
        member.rebalance.set()
    else:
        reading.printed.clear()


async def leave(member: GroupMember) -> None:
    """A cluster that is gone cannot be told, and need not be."""
    try:
        await member.leave()
    except ClientError as error:
        complain(f"could not leave the group: {error}")
