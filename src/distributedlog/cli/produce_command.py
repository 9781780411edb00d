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
from distributedlog.cli.progress import ProgressBar
from distributedlog.cli.record_reader import RecordReader
from distributedlog.cli.terminal import counted, note, shown, shown_size
from distributedlog.client import BrokerError, ClientError, ClusterClient
from distributedlog.client.sender import SenderSettings, TopicSender
from distributedlog.records import Compression, InvalidRecordError
from distributedlog.wire import ErrorCode

ACKS: Final = {"all": -1, "1": 1, "0": 0}
#: A cluster that makes topics by itself does so at once.
CREATION_SECONDS_MAX: Final = 5.0
#: Of fewer a rate says nothing.
RATE_RECORDS_MIN: Final = 10_000


def produce(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        files = arguments.files or [STANDARD_INPUT]
        is_typed = STANDARD_INPUT in files and sys.stdin.isatty()
        sender = TopicSender(client, arguments.topic, sender_settings(arguments))
        await find_or_make_topic(client, arguments)
        began = time.monotonic()
        with ProgressBar("Writing", is_wanted=not is_typed and not arguments.quiet) as bar:
            try:
                async with sender:
                    check_partition(arguments, sender)
                    if is_typed and not arguments.quiet:
                        note("Each line is a record; Ctrl-D ends.")
                    chunks = InputChunks(files)
                    sender.on_failure = chunks.give_up
                    await send_all(arguments, chunks, sender, bar)
            except (ClientError, CommandFailed) as error:
                if not sender.acknowledged_records:
                    raise
                raise CommandFailed(f"{error}; {acknowledged(sender)} before that") from error
            except asyncio.CancelledError:
                bar.stop()
                note(f"Stopped; {acknowledged(sender)}.")
                raise
        report(arguments, sender, time.monotonic() - began)
        return 0

    return run_work(arguments, work)


def sender_settings(arguments: argparse.Namespace) -> SenderSettings:
    return SenderSettings(
        acks=ACKS[arguments.acks],
        compression=Compression[arguments.compression.upper()],
        batch_size=arguments.batch_size,
    )


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


def check_partition(arguments: argparse.Namespace, sender: TopicSender) -> None:
    if arguments.partition is not None and not 0 <= arguments.partition < sender.partition_count:
        raise CommandFailed(
            f"topic {arguments.topic} has no partition {arguments.partition}, "
            f"only 0 to {sender.partition_count - 1}"
        )


async def send_all(
    arguments: argparse.Namespace, chunks: InputChunks, sender: TopicSender, bar: ProgressBar
) -> None:
    """All input to the sender, up to the first piece that is no record.

    Whoever then goes on with that piece has lost nothing, so what came before it is written. What stands in
    a chunk is sent when nothing more has come meanwhile.
    """
    reader = RecordReader(arguments, chunks.names)
    taken = 0
    try:
        async for number, chunk in chunks:
            for record in reader.records(number, chunk):
                try:
                    await sender.send(
                        record.value, record.key, record.headers, record.timestamp, record.partition
                    )
                except InvalidRecordError as error:
                    raise CommandFailed(f"{reader.place}: {error}") from None
            taken += len(chunk)
            bar.update(taken, chunks.size, sender.acknowledged_records, sender.acknowledged_bytes)
            if chunks.is_waiting:
                sender.hurry()
    except CommandFailed:
        await sender.flush()
        raise


def acknowledged(sender: TopicSender) -> str:
    """For whoever has to go on where this ended."""
    return f"{counted(sender.acknowledged_records, 'record')} had been acknowledged"


def report(arguments: argparse.Namespace, sender: TopicSender, seconds: float) -> None:
    records, size = sender.acknowledged_records, sender.acknowledged_bytes
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
