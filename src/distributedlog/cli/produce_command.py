"""`dlog produce`."""

import argparse
import asyncio
import sys
import time
from typing import Final

from distributedlog.cli.cluster_work import CommandFailed, run_work
from distributedlog.cli.input_chunks import STANDARD_INPUT, InputChunks
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.parser import did_you_mean
from distributedlog.cli.produce_writer import MEMORY, TopicWriter
from distributedlog.cli.progress import ProgressBar
from distributedlog.cli.record_reader import RecordReader
from distributedlog.cli.terminal import counted, note, shown, shown_size
from distributedlog.client import BrokerError, ClientError, ClusterClient
from distributedlog.client.errors import InvalidOption, RecordTooLarge
from distributedlog.wire import ErrorCode

#: A cluster that makes topics by itself does so at once.
CREATION_SECONDS_MAX: Final = 5.0
#: Of fewer a rate says nothing.
RATE_RECORDS_MIN: Final = 10_000


def produce(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        files = arguments.files or [STANDARD_INPUT]
        is_typed = STANDARD_INPUT in files and sys.stdin.isatty()
        await find_or_make_topic(client, arguments)
        writer = TopicWriter(arguments)
        began = time.monotonic()
        with ProgressBar("Writing", is_wanted=not is_typed and not arguments.quiet) as bar:
            try:
                async with writer:
                    await check_partition(arguments, writer)
                    if is_typed and not arguments.quiet:
                        note("Each line is a record; Ctrl-D ends.")
                    chunks = InputChunks(files)
                    writer.on_failure = chunks.give_up
                    await send_all(arguments, chunks, writer, bar)
            except (ClientError, CommandFailed) as error:
                if not writer.acknowledged_records:
                    raise
                raise CommandFailed(f"{error}; {acknowledged(writer)} before that") from error
            except asyncio.CancelledError:
                bar.stop()
                note(f"Stopped; {acknowledged(writer)}.")
                raise
        report(arguments, writer, time.monotonic() - began)
        return 0

    return run_work(arguments, work)


async def find_or_make_topic(client: ClusterClient, arguments: argparse.Namespace) -> None:
    """Whoever has misspelt a topic's name should hear that there is a new one now."""
    name = arguments.topic
    try:
        await client.topics([name])
        return
    except BrokerError as error:
        if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
    try:
        async with asyncio.timeout(CREATION_SECONDS_MAX):
            await client.topics([name], may_create=True)
    except TimeoutError:
        raise CommandFailed(
            f"there is no topic {name!r}, and the cluster makes none by itself: `dlog topic create {name}`"
        ) from None
    if not arguments.quiet:
        others = [topic.name for topic in await client.all_topics() if topic.name != name]
        note(f"There was no topic {name!r}: it was made{did_you_mean(name, others)}")


async def check_partition(arguments: argparse.Namespace, writer: TopicWriter) -> None:
    count = await writer.partition_count()
    if arguments.partition is not None and not 0 <= arguments.partition < count:
        raise CommandFailed(
            f"topic {arguments.topic} has no partition {arguments.partition}, only 0 to {count - 1}"
        )


async def send_all(
    arguments: argparse.Namespace, chunks: InputChunks, writer: TopicWriter, bar: ProgressBar
) -> None:
    """All input to the writer, up to the first piece that is no record.

    Whoever then goes on with that piece has lost nothing, so what came before it is written.
    """
    reader = RecordReader(arguments, chunks.names)
    taken = 0
    try:
        async for number, chunk in chunks:
            for record in reader.records(number, chunk):
                try:
                    await writer.send(
                        record.value,
                        record.key,
                        record.headers,
                        timestamp=record.timestamp,
                        partition=record.partition,
                    )
                except RecordTooLarge:
                    limit = shown_size(MEMORY)
                    raise CommandFailed(f"{reader.place}: a record may have at most {limit}") from None
                except InvalidOption as error:
                    raise CommandFailed(f"{reader.place}: {error}") from None
            taken += len(chunk)
            bar.update(taken, chunks.size, writer.acknowledged_records, writer.acknowledged_bytes)
    except CommandFailed:
        await writer.flush()
        raise


def acknowledged(writer: TopicWriter) -> str:
    """For whoever has to go on where this ended."""
    return f"{counted(writer.acknowledged_records, 'record')} had been acknowledged"


def report(arguments: argparse.Namespace, writer: TopicWriter, seconds: float) -> None:
    records, size = writer.acknowledged_records, writer.acknowledged_bytes
    if arguments.quiet:
        return
    if arguments.json:
        print_json(topic=arguments.topic, records=records, bytes=size, seconds=round(seconds, 3))
        return
    rate = f", {records / seconds:,.0f} a second" if records >= RATE_RECORDS_MIN else ""
    print(
        f"Wrote {counted(records, 'record')}, {shown_size(size)}, to {shown(arguments.topic)} "
        f"in {seconds:.2f} s{rate}."
    )
