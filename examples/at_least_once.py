"""Work through a topic so that nothing is left out, also when the worker dies in the middle.

python examples/at_least_once.py                    with a broker of its own
python examples/at_least_once.py localhost:9092     with yours
"""

import sys

from distributedlog import Consumer
from distributedlog.client.producer.producer import Producer
from distributedlog.testing import EmbeddedBroker

ORDERS = 12


class PowerCut(Exception):
    pass


def work(servers: str, die_at: int | None = None) -> list[str]:
    """Offsets are committed when what was handed out before is done: here with every fifth record."""
    done = []
    try:
        with Consumer(
            servers,
            group_id="shipping",
            delivery="at_least_once",
            auto_offset_reset="earliest",
            auto_commit_interval_ms=0,
            max_poll_records=5,
        ) as consumer:
            consumer.subscribe("orders")
            for record in consumer:
                if len(done) == die_at:
                    raise PowerCut
                done.append(record.value.decode())
                if record.value == b"the end":
                    return done
    except PowerCut:
        pass
    return done


def run(servers: str) -> None:
    with Producer(servers) as producer:
        producer.send_many("orders", [b"order %d" % number for number in range(ORDERS)])
        producer.send("orders", b"the end")
    first = work(servers, die_at=7)
    print(f"the first worker shipped {len(first)}, up to {first[-1]}, and died")
    second = work(servers)
    print(f"the second one went on with {second[0]}")
    twice = sorted({*first} & {*second})
    print(f"left out: {ORDERS + 1 - len({*first, *second})}; shipped twice: {', '.join(twice)}")


def main() -> None:
    if sys.argv[1:]:
        run(sys.argv[1])
    else:
        with EmbeddedBroker() as broker:
            run(broker.bootstrap_servers)


if __name__ == "__main__":
    main()
