"""Read from one topic, write to another, each record exactly once: also when a step fails in the middle.

python examples/read_process_write.py                    with a broker of its own
python examples/read_process_write.py localhost:9092     with yours
"""

import sys

from distributedlog import Consumer, exactly_once
from distributedlog.client.producer.producer import Producer
from distributedlog.testing import EmbeddedBroker

WORDS = ["to", "be", "or", "not", "to", "be", "that", "is", "the", "question"]


class Hiccup(Exception):
    pass


def shout(servers: str) -> None:
    """Records and the positions behind what was read are committed together, or not at all."""
    has_failed = False
    done = 0
    with (
        Consumer(
            servers,
            group_id="shouting",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        ) as consumer,
        Producer(servers, transactional_id="shouting-1") as producer,
    ):
        consumer.subscribe("words")
        step = exactly_once(consumer, producer, max_records=4)
        while done < len(WORDS):
            try:
                with step as records:
                    for record in records:
                        producer.send("shouted", record.value.upper(), key=record.key)
                    if done and not has_failed:
                        has_failed = True
                        raise Hiccup
                    done += len(records)
            except Hiccup:
                print(f"a step failed after {done} words, and is done again")


def run(servers: str) -> None:
    with Producer(servers) as producer:
        producer.send_many("words", [word.encode() for word in WORDS])
    shout(servers)
    with Consumer(servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.subscribe("shouted")
        shouted: list[str] = []
        while len(shouted) < len(WORDS):
            shouted += [record.value.decode() for record in consumer.poll()]
    print(" ".join(shouted))


def main() -> None:
    if sys.argv[1:]:
        run(sys.argv[1])
    else:
        with EmbeddedBroker() as broker:
            run(broker.bootstrap_servers)


if __name__ == "__main__":
    main()
