"""A broker as its users have it: `dlog start`, a Kafka client, the commands, kill -9 and a restart.

The client is confluent-kafka (librdkafka), which knows nothing of us. Without it the scene is left out.
"""

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from distributedlog.demo.broker_process import PATIENCE_SECONDS, BrokerProcess, broker_process, dlog
from distributedlog.demo.figures import Stopwatch
from distributedlog.demo.orders import VALUE_BYTES, order
from distributedlog.demo.stage import Stage

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

TITLE = "A broker for Kafka clients: use it, kill it under load, restart it"
RECORDS_MAX: Final = 100_000
TOPIC: Final = "orders"
GROUP: Final = "billing"


class Load:
    """A producer that notes what it was told: the offset of each order that was acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Producer  # noqa: PLC0415 (not everybody has it)

        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0,
            "reconnect.backoff.max.ms": 200, "queue.buffering.max.messages": RECORDS_MAX,
        }  # fmt: skip
        self.producer: Producer = Producer(settings)
        #: Offset to number.
        self.acknowledged: dict[int, int] = {}
        self.failed = 0

    def send(self, numbers: range) -> None:
        for number in numbers:
            made = order(number)
            self.producer.produce(
                TOPIC, made.value, made.key, timestamp=made.timestamp or 0, on_delivery=self._noting(number)
            )

    def _noting(self, number: int) -> Any:
        def note(error: Any, message: "Message") -> None:
            offset = message.offset()
            if error is not None or offset is None:
                self.failed += 1
            else:
                self.acknowledged[offset] = number

        return note

    def wait_for(self, count: int) -> None:
        """Until so many are acknowledged, or time is over."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(self.acknowledged) < count and time.monotonic() < deadline:
            self.producer.poll(0.01)


def play(stage: Stage) -> None:
    if find_spec("confluent_kafka") is None:
        stage.say("left out: confluent-kafka missing; pip install confluent-kafka")
        return
    count = min(stage.records_count, RECORDS_MAX)
    with broker_process(stage.directory / "broker") as broker:
        load = first_record(stage, broker)
        write_and_read(stage, broker, load, count)
        committed = commit_half(broker, count)
        kill_under_load(stage, broker, load, count)
        look_at_what_is_left(stage, broker, load, count, committed)
        code = broker.stop()
        stage.claim(code == 0, "SIGTERM: it stops, and says that all is well", f"it stopped with code {code}")


def first_record(stage: Stage, broker: BrokerProcess) -> Load:
    dlog(broker, "topic", "create", TOPIC, "--config", "retention.ms=-1")
    stage.say(f"$ dlog start --listen {broker.address}")
    stage.say(f"$ dlog topic create {TOPIC}")
    load = Load(broker.address)
    load.send(range(1))
    load.wait_for(1)
    return load


def write_and_read(stage: Stage, broker: BrokerProcess, load: Load, count: int) -> None:
    writing, reading = Stopwatch(), Stopwatch()
    with writing:
        load.send(range(1, count))
        load.wait_for(count)
    stage.measured("confluent-kafka produces", count, writing.seconds, count * VALUE_BYTES)
    consumer = subscribed(broker, "reader")
    with reading:
        found = read(consumer, count)
    consumer.close()
    stage.measured("confluent-kafka consumes", count, reading.seconds, count * VALUE_BYTES)
    stage.claim(
        found == {offset: order(number).value for offset, number in load.acknowledged.items()},
        f"confluent-kafka wrote {count:,} records and read the same, knowing nothing of us",
        "confluent-kafka did not read what it had written",
    )


def subscribed(broker: BrokerProcess, group: str) -> "Consumer":
    from confluent_kafka import Consumer  # noqa: PLC0415

    consumer = Consumer(
        {"bootstrap.servers": broker.address, "group.id": group, "auto.offset.reset": "earliest",
         "enable.auto.commit": False, "log_level": 0}
    )  # fmt: skip
    consumer.subscribe([TOPIC])
    return consumer


def read(consumer: "Consumer", count: int) -> dict[int, bytes | None]:
    """So many values by their offsets, or what came in time. One that comes twice takes another's place."""
    found: dict[int, bytes | None] = {}
    deadline = time.monotonic() + PATIENCE_SECONDS
    seen = 0
    while seen < count and time.monotonic() < deadline:
        for message in consumer.consume(min(count - seen, 10_000), 0.2):
            offset = message.offset()
            if message.error() is None and offset is not None:
                found[offset] = message.value()
                seen += 1
    return found


def commit_half(broker: BrokerProcess, count: int) -> int:
    """Have the group stop in the middle; where it is to go on."""
    from confluent_kafka import TopicPartition  # noqa: PLC0415

    consumer = subscribed(broker, GROUP)
    read(consumer, 1)
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, count // 2)], asynchronous=False)
    consumer.close()
    return count // 2


def kill_under_load(stage: Stage, broker: BrokerProcess, load: Load, count: int) -> None:
    """A second load is on its way when the broker dies; the producer repeats what was not answered."""
    load.send(range(count, 2 * count))
    load.wait_for(count + max(count // 10, 1))
    broker.kill()
    safe = len(load.acknowledged)
    stage.say(f"$ kill -9   ({safe:,} acknowledged, {2 * count - safe:,} on their way)")
    coming_back = Stopwatch()
    with coming_back:
        broker.start()
    stage.measured("restart a killed broker", 1, coming_back.seconds)
    load.producer.flush(PATIENCE_SECONDS)


def look_at_what_is_left(stage: Stage, broker: BrokerProcess, load: Load, count: int, committed: int) -> None:
    consumer = subscribed(broker, "auditor")
    found = read(consumer, 2 * count)
    consumer.close()
    expected = {offset: order(number).value for offset, number in load.acknowledged.items()}
    stage.claim(
        found == expected and len(expected) == 2 * count and not load.failed,
        f"all {2 * count:,} records were acknowledged and are there once, each at the offset it was told",
        f"{len(expected):,} of {2 * count:,} acknowledged, {load.failed} failed, {len(found):,} found, "
        f"{sum(found.get(offset) != value for offset, value in expected.items()):,} of them wrong",
    )
    consumer = subscribed(broker, GROUP)
    first = min(read(consumer, 1), default=-1)
    consumer.close()
    stage.claim(
        first == committed,
        f"group {GROUP} goes on where it had committed, at {committed:,}",
        f"group {GROUP} goes on at {first} instead of {committed}",
    )
    for command in (("topic", "describe", TOPIC), ("group", "describe", GROUP)):
        stage.say(f"$ dlog {' '.join(command)}")
        for line in dlog(broker, *command).splitlines():
            if line.strip():
                stage.say(f"  {line.rstrip()}")
