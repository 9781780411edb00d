"""Golden transcripts of transactions at a real socket: requests, and what Apache Kafka answered to each.

A file is a list of blocks separated by empty lines. Lines that begin with # say what the block is about; each
other line is a command, ``=>``, and what came of it. The blocks are independent: their names of topics,
transactional ids and groups are made their own, and producer ids are counted from 1 as they appear.

What stands in the files was answered by Kafka 4.3.1: ``make peers`` compares it with Kafka again, ``make
test`` with our broker. ``python -m tests.transactions_fire.transcript PORT FILE…`` writes the answers of
the broker at a port into the files, for a reader to look at the difference.

::

    topic t 3           delete t           producer p v1 [as=x] [timeout=60000]
    copy z p            set p epoch+1 id=unknown as=y version=v2
    init p [keep]       add p t:0,1 u:0    send p t:0 a b [seq+1] [plain]
    end p commit        offsets p g        commit-offsets p g t:0=5 [member=m] [generation+1]
    join g m            verify p t:0       batch p t:0
    describe x          await x Empty      markers p abort t:0 [coordinator=0] [version=2] [tv=2]
    read t:0            latest t:0         producers t:0    offset g t:0 [stable]

``batch`` and ``verify`` are AddPartitionsToTxn as brokers send it. A request is made again while it is
answered with what passes by itself, unless the command ends with ``once``.
"""

import copy
import re
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tests.broker_fire.asking import create_topic
from tests.server.processes import Client, eventually
from tests.transactions_fire import administration
from tests.transactions_fire.raw_producer import (
    GENERATIONS,
    GROUP_KEY_TYPE,
    PASSING,
    RawProducer,
    find_coordinator,
    patiently,
)

from distributedlog.wire import ErrorCode

TRANSCRIPTS = Path(__file__).parent / "transcripts"
ARROW = " => "
COLUMN = 44
UNKNOWN_PRODUCER_ID = 999_999
#: What Kafka makes of "passes by itself" in the answer to a Produce of a client that knows no better word.
PASSING_IN_PRODUCE = PASSING | {ErrorCode.NOT_ENOUGH_REPLICAS}
_PARTITIONS = re.compile(r"(?P<topic>[a-z-]+):(?P<indexes>[\d,]+)")
_numbers = count(time.time_ns() // 1_000_000)


def blocks(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Comments and commands (with their answers) of each block."""
    for block in text.strip().split("\n\n"):
        lines = block.split("\n")
        yield [x for x in lines if x.startswith("#")], [x for x in lines if not x.startswith("#")]


def all_blocks():
    """(name, lines) of every block of every transcript."""
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        for comments, lines in blocks(path.read_text()):
            yield f"{path.stem}: {title(comments)}", lines


def title(comments: list[str]) -> str:
    """A block's name: its first comment."""
    return comments[0].lstrip("# ").rstrip(".:")


def play_block(port: int, lines: list[str]) -> list[str]:
    """The lines with the answers as this broker gives them."""
    commands = [line.split(ARROW)[0].strip() for line in lines]
    with Client(port) as client:
        play = Play(client)
        answers = [play.command(command) for command in commands]
    return [
        f"{command:{COLUMN}}{ARROW}{answer}" if answer else command
        for command, answer in zip(commands, answers, strict=True)
    ]


class Play:
    """The state between the commands of one block."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.suffix = f"-{next(_numbers)}"
        self.producers: dict[str, RawProducer] = {}
        self.members: dict[str, administration.Member] = {}
        self.producer_ids: dict[int, int] = {}

    def command(self, line: str) -> str:
        name, *words = line.split()
        self.is_patient = words[-1:] != ["once"]
        handler = getattr(self, "do_" + name.replace("-", "_"))
        return handler(*(words if self.is_patient else words[:-1])) or ""

    # names

    def real(self, name):
        return name + self.suffix

    def group(self, name):
        find_coordinator(self.client, self.real(name), GROUP_KEY_TYPE)
        return self.real(name)

    def shown_id(self, producer_id):
        if producer_id < 0:
            return "none"
        return self.producer_ids.setdefault(producer_id, len(self.producer_ids) + 1)

    def partitions(self, words):
        found = []
        for word in words:
            match = _PARTITIONS.fullmatch(word)
            assert match, f"{word!r} is not of the form topic:0,1"
            found += [(self.real(match["topic"]), int(index)) for index in match["indexes"].split(",")]
        return found

    def partition(self, word):
        [one] = self.partitions([word])
        return one

    def shown(self, topic, partition):
        return f"{topic.removesuffix(self.suffix)}:{partition}"

    def ask(self, question, passing=PASSING):
        return patiently(question, passing) if self.is_patient else question()

    def codes(self, question):
        """The answer of a request for many partitions, made again while any of them passes by itself."""

        def ask():
            found = question()
            passing = [code for code in found.values() if code in PASSING]
            return (passing[0] if passing else 0), found

        _, found = self.ask(ask)
        return " ".join(
            f"{self.shown(*place)} {ErrorCode(code).name}" for place, code in sorted(found.items())
        )

    # producers

    def do_topic(self, name, partitions="1"):
        create_topic(self.client, self.real(name), int(partitions))
        for partition in range(int(partitions)):
            administration.latest(self.client, self.real(name), partition)

    def do_delete(self, name):
        administration.delete_topic(self.client, self.real(name))

    def do_producer(self, name, generation, *options):
        producer = RawProducer(self.client, self.real("x"), GENERATIONS[generation])
        for option, value in (option.split("=") for option in options):
            if option == "as":
                producer.transactional_id = self.real(value) if value else ""
            else:
                assert option == "timeout", option
                producer.timeout_ms = int(value)
        self.producers[name] = producer
        find_coordinator(self.client, producer.transactional_id or "x")

    def do_copy(self, name, original):
        self.producers[name] = copy.deepcopy(self.producers[original], {id(self.client): self.client})

    def do_set(self, name, *changes):
        producer = self.producers[name]
        for change in changes:
            match change.replace("=", " = ").replace("+", " + ").replace("-", " - ").split():
                case ["epoch", "=", number]:
                    producer.epoch = int(number)
                case ["epoch", sign, number]:
                    producer.epoch += int(sign + number)
                case ["id", "=", "unknown"]:
                    producer.producer_id = UNKNOWN_PRODUCER_ID
                case ["id", "=", other]:
                    producer.producer_id = self.producers[other].producer_id
                case ["as", "=", other]:
                    producer.transactional_id = self.real(other)
                case ["version", "=", version]:
                    producer.generation = GENERATIONS[version]
                case _:
                    raise ValueError(change)

    def do_init(self, name, *options):
        producer = self.producers[name]
        code = self.ask(lambda: producer.init(keep="keep" in options))
        return self._with_epoch(producer, code)

    def _with_epoch(self, producer, code):
        if code:
            return ErrorCode(code).name
        return f"NONE {self.shown_id(producer.producer_id)}/{producer.epoch}"

    def do_add(self, name, *words):
        return self.codes(lambda: self.producers[name].add(*self.partitions(words)))

    def do_batch(self, name, *words, verify_only=False):
        producer, partitions = self.producers[name], self.partitions(words)
        return self.codes(lambda: administration.add_batched(producer, partitions, verify_only=verify_only))

    def do_verify(self, name, *words):
        return self.do_batch(name, *words, verify_only=True)

    def do_send(self, name, place, *words):
        producer, (topic, partition) = self.producers[name], self.partition(place)
        values = [word.encode() for word in words if not word.startswith("seq") and word != "plain"]
        before = producer.sequences[topic, partition]
        for word in words:
            if word.startswith("seq"):
                producer.sequences[topic, partition] += int(word.removeprefix("seq"))
        transactional = "plain" not in words
        code, offset = self.ask(
            lambda: producer.produce(topic, partition, *values, is_transactional=transactional),
            PASSING_IN_PRODUCE,
        )
        if code:
            producer.sequences[topic, partition] = before
            return ErrorCode(code).name
        return f"NONE @{offset}"

    def do_offsets(self, name, group):
        return ErrorCode(self.ask(lambda: self.producers[name].add_offsets(self.group(group)))).name

    def do_commit_offsets(self, name, group, *words):
        offsets, options = {}, {}
        for word in words:
            left, sign, right = re.fullmatch(r"([^=+]+)([=+])(-?\w*)", word).groups()
            if left == "member":
                member = self.members.get(right)
                options["member_id"] = member.member_id if member is not None else right
                options.setdefault("generation_id", member.generation_id if member is not None else 1)
            elif left == "generation":
                options["generation_id"] = int(right) + (options["generation_id"] if sign == "+" else 0)
            else:
                offsets[self.partition(left)] = int(right)
        producer = self.producers[name]
        return self.codes(lambda: producer.commit_offsets(self.group(group), offsets, **options))

    def do_end(self, name, result):
        producer = self.producers[name]
        transactional_id = producer.transactional_id
        code = self.ask(lambda: producer.end(committed={"commit": True, "abort": False}[result]))
        eventually(lambda: not administration.state_of(self.client, transactional_id).startswith("Prepare"))
        return self._with_epoch(producer, code) if producer.generation.is_v2 else ErrorCode(code).name

    def do_join(self, group, name):
        self.members[name] = administration.join(self.client, self.group(group))

    # what there is

    def do_markers(self, name, result, *words):
        options = dict(word.split("=") for word in words if "=" in word)
        partitions = self.partitions(word for word in words if "=" not in word)
        return self.codes(
            lambda: administration.write_markers(
                self.producers[name],
                partitions,
                committed={"commit": True, "abort": False}[result],
                coordinator_epoch=int(options.get("coordinator", 0)),
                version=int(options.get("version", 1)),
                transaction_version=int(options.get("tv", 0)),
            )
        )

    def do_read(self, place):
        values, stable, end = administration.read_committed(self.client, *self.partition(place))
        return " ".join([*(value.decode() for value in values), f"({stable} of {end})"])

    def do_latest(self, place):
        committed = administration.latest(self.client, *self.partition(place), is_read_committed=True)
        return f"{committed} of {administration.latest(self.client, *self.partition(place))}"

    def do_offset(self, group, place, *options):
        topic, partition = self.partition(place)
        return administration.committed_offset(
            self.client, self.group(group), topic, partition, require_stable="stable" in options
        )

    def do_describe(self, name):
        found = administration.describe(self.client, self.real(name))
        if found.error_code:
            return ErrorCode(found.error_code).name
        places = sorted(self.shown(t.topic, index) for t in found.topics for index in t.partitions)
        producer = f"{self.shown_id(found.producer_id)}/{found.producer_epoch}"
        return " ".join(
            [found.transaction_state, producer, f"timeout={found.transaction_timeout_ms}", *places]
        )

    def do_await(self, name, state):
        eventually(lambda: administration.state_of(self.client, self.real(name)) == state)

    def do_producers(self, place):
        found = administration.producers(self.client, *self.partition(place))
        if isinstance(found, str):
            return found
        told = [
            f"{self.shown_id(each.producer_id)}/{each.producer_epoch} sequence={each.last_sequence} "
            + (f"open@{each.current_txn_start_offset}" if each.current_txn_start_offset >= 0 else "closed")
            for each in found
        ]
        return "; ".join(told) or "none"


def main(port, *paths):
    for path in map(Path, paths):
        written = []
        for comments, lines in blocks(path.read_text()):
            try:
                written.append("\n".join([*comments, *(play_block(int(port), lines) if lines else [])]))
            except BaseException as error:
                error.add_note(f"in the block {title(comments)!r} of {path}")
                raise
        path.write_text("\n\n".join(written) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
