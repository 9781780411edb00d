"""Golden transcripts: commands and the trace they leave, replayed by `test_transcripts.py`.

A transcript is made of blocks with an empty line between them: comments, commands, a line of four dashes,
and what the commands brought: records (``+``), markers (``!``), answers (``name <-``). After a wanted change
write the traces anew, and read the difference:

python -m tests.transactions.transcript tests/transactions/transcripts/*.txt
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.transactions.clients import INIT, Producer, add_request_v1, add_request_v2, added, init_request, tp
from tests.transactions.driver import Driver

from distributedlog.transactions import TransactionConfig, TransactionMetadata, TransactionState
from distributedlog.transactions.records import metadata_of
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdResponse
from distributedlog.wire.k26_end_txn import EndTxnResponse
from distributedlog.wire.values import decode_transaction_key, decode_transaction_value

_RULER = "----"


def blocks(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Comments and commands of each block."""
    for block in text.strip().split("\n\n"):
        lines = block.split("\n")
        comments = [line for line in lines if line.startswith("#")]
        rest = [line for line in lines if not line.startswith("#")]
        yield comments, rest[: rest.index(_RULER)] if _RULER in rest else rest


def run(text: str) -> str:
    """The transcript with the traces as they are."""
    play = Play()
    written = []
    for comments, commands in blocks(text):
        trace = [line for command in commands for line in play.command(command)]
        written.append("\n".join([*comments, *commands, *([_RULER, *trace] if commands else [])]))
    return "\n\n".join(written) + "\n"


class Play:
    """The state between the commands of one transcript."""

    def __init__(self) -> None:
        self.config = TransactionConfig()
        self.driver = Driver(self.config)
        self.producers: dict[str, Producer] = {}
        self.asked: dict[int, str] = {}
        self.seen_replies = self.seen_records = self.seen_markers = 0

    def command(self, line: str) -> list[str]:
        """Do one command; what came of it."""
        name, *words = line.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        plain = [word for word in words if "=" not in word]
        told = list(getattr(self, f"do_{name}")(plain, options) or ())
        return [*self._records(), *self._markers(), *self._replies(), *told]

    # surroundings

    def do_config(self, _: list[str], options: dict[str, str]) -> None:
        self.config = replace(self.config, **{name: int(value) for name, value in options.items()})
        self.driver = Driver(self.config)

    def do_advance(self, words: list[str], _: dict[str, str]) -> None:
        self.driver.advance(int(words[0]))

    def do_restart(self, _: list[str], __: dict[str, str]) -> None:
        self.driver.restart()

    def do_crash(self, _: list[str], __: dict[str, str]) -> None:
        """With the loss of what is not on the disk."""
        self.driver.crash(kept=0)
        self.seen_records = min(self.seen_records, len(self.driver.log))

    def do_fail(self, words: list[str], _: dict[str, str]) -> None:
        self.driver.append_errors.append(ErrorCode[words[0]])

    def do_hold(self, words: list[str], _: dict[str, str]) -> None:
        """``disk``, ``markers`` or ``ids``: they wait."""
        setattr(self.driver, f"holds_{words[0]}", True)

    def do_release(self, words: list[str], _: dict[str, str]) -> None:
        """They wait no longer."""
        driver = self.driver
        setattr(driver, f"holds_{words[0]}", False)
        match words[0]:
            case "disk":
                driver.flush()
            case "markers":
                for plan in list(driver.plans):
                    driver.write_markers(plan)
            case "ids":
                for wanted in list(driver.wanting):
                    driver.give_id(wanted)

    def do_markers(self, words: list[str], options: dict[str, str]) -> None:
        """Write the markers of the oldest plan; options are errors by partition, words deleted partitions."""
        errors = {tp(name): ErrorCode[error] for name, error in options.items()}
        self.driver.write_markers(self.driver.plans[0], errors, [tp(name) for name in words])

    # producers

    def _producer(self, name: str, options: dict[str, str]) -> Producer:
        producer = self.producers.setdefault(name, Producer(self.driver))
        producer.driver = self.driver
        producer.version = int(options.get("v", producer.version))
        producer.transactional_id = options.get("id", producer.transactional_id)
        producer.timeout_ms = int(options.get("timeout", producer.timeout_ms))
        producer.epoch = int(options.get("epoch", producer.epoch))
        return producer

    def do_init(self, words: list[str], options: dict[str, str]) -> None:
        self._init(words[0], options)

    def do_recover(self, words: list[str], options: dict[str, str]) -> None:
        """InitProducerId with what the producer has."""
        producer = self._producer(words[0], options)
        self._init(words[0], options, producer_id=producer.producer_id, producer_epoch=producer.epoch)

    def _init(self, name: str, options: dict[str, str], **fields: int) -> None:
        producer = self._producer(name, options)
        request = init_request(producer.transactional_id, producer.timeout_ms, **fields)
        self.asked[self.driver.send(request, INIT)] = name

    def do_add(self, words: list[str], options: dict[str, str]) -> list[str]:
        name, *partitions = words
        producer = self._producer(name, options)
        request, api_version = (add_request_v2, 5) if producer.version == 2 else (add_request_v1, 3)
        asked = request(producer.transactional_id, *producer.identity, *partitions)
        self.asked[self.driver.send(asked, api_version)] = name
        return []

    def do_verify(self, words: list[str], options: dict[str, str]) -> None:
        name, *partitions = words
        producer = self._producer(name, options)
        asked = add_request_v2(producer.transactional_id, *producer.identity, *partitions, verify_only=True)
        self.asked[self.driver.send(asked, 5)] = name

    def do_commit(self, words: list[str], options: dict[str, str]) -> None:
        self.asked[self._producer(words[0], options).send_end(True)] = words[0]

    def do_abort(self, words: list[str], options: dict[str, str]) -> None:
        self.asked[self._producer(words[0], options).send_end(False)] = words[0]

    def do_epoch(self, words: list[str], _: dict[str, str]) -> None:
        """Put an id and its producer at an epoch."""
        name, epoch = words
        producer = self.producers[name]
        self.driver.put(producer.transactional_id, producer_epoch=int(epoch))
        self.seen_records = len(self.driver.log)
        producer.epoch = int(epoch)

    def do_show(self, words: list[str], _: dict[str, str]) -> list[str]:
        metadata = self.driver.transactions.get(words[0])
        return [f"{words[0]}: {'none' if metadata is None else _words(metadata)}"]

    # the trace

    def _records(self) -> list[str]:
        entries = self.driver.log[self.seen_records :]
        self.seen_records = len(self.driver.log)
        return [f"+ {_record(*entry)}" for entry in entries]

    def _markers(self) -> list[str]:
        entries = self.driver.markers[self.seen_markers :]
        self.seen_markers = len(self.driver.markers)
        return [
            f"! {topic}-{index} {'commit' if is_commit else 'abort'} {producer_id}/{epoch}"
            for (topic, index), producer_id, epoch, is_commit, _ in entries
        ]

    def _replies(self) -> list[str]:
        lines = []
        for token in self.driver.reply_order[self.seen_replies :]:
            name = self.asked.get(token)
            if name is not None:
                lines.append(f"{name} <- {self._response(self.producers[name], self.driver.replies[token])}")
        self.seen_replies = len(self.driver.reply_order)
        return lines

    def _response(self, producer: Producer, response: Any) -> str:
        match response:
            case InitProducerIdResponse() | EndTxnResponse() if not response.error_code:
                if response.producer_id >= 0:
                    producer.producer_id, producer.epoch = response.producer_id, response.producer_epoch
                return f"NONE {producer.producer_id}/{producer.epoch}"
            case InitProducerIdResponse() | EndTxnResponse():
                return ErrorCode(response.error_code).name
        errors = added(response)
        if isinstance(errors, dict):
            return " ".join(f"{name}={error.name}" for name, error in errors.items())
        return errors.name


def _record(key: bytes, value: bytes | None) -> str:
    decoded = decode_transaction_key(key)
    content = decode_transaction_value(decoded, value)
    name = decoded.transactional_id
    return f"{name} deleted" if content is None else f"{name} {_words(metadata_of(name, content))}"


def _words(metadata: TransactionMetadata) -> str:
    words = [metadata.state.label, f"{metadata.producer_id}/{metadata.producer_epoch}"]
    if metadata.next_producer_id >= 0:
        words.append(f"next={metadata.next_producer_id}")
    if metadata.state is not TransactionState.EMPTY:
        words.append(f"v={metadata.client_version}")
    if metadata.partitions:
        words.append(f"[{' '.join(f'{topic}-{index}' for topic, index in sorted(metadata.partitions))}]")
    return " ".join(words)


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(run(file.read_text()))
