"""Write many records without waiting for any: a call-back is told of each.

    python produce_with_callbacks.py [BOOTSTRAP]

Without an address it starts a broker inside of this process.
"""

import sys
import threading
from collections import Counter

from distributedlog import Producer
from distributedlog.client.errors import ClientError
from distributedlog.client.producer.future import RecordMetadata
from distributedlog.testing import EmbeddedBroker

RECORDS = 10_000


class Tally:
    """Called in the producer's own thread: it may count, and send more, but never wait."""

    def __init__(self) -> None:
        self.stored: Counter[str] = Counter()
        self.failed: list[ClientError] = []
        self.first = threading.Event()

    def delivered(self, where: RecordMetadata | None, error: ClientError | None) -> None:
        if where is None:
            self.failed.append(error)
        else:
            self.stored[where.topic] += 1
        self.first.set()


def main(bootstrap: str) -> None:
    tally = Tally()
    with Producer(bootstrap, linger_ms=20, compression="zstd") as producer:
        for number in range(RECORDS):
            producer.send("readings", b"%d" % number, on_delivery=tally.delivered)
        tally.first.wait(30)
        print("told of the first ones while others are on their way")
        producer.flush()  # returns when every call-back has been made
        print(f"{tally.stored['readings']} stored, {len(tally.failed)} failed")
        metrics = producer.metrics()
        print(f"in fewer batches than a tenth of that: {metrics.batches_sent < RECORDS / 10}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with EmbeddedBroker() as broker:
            main(broker.bootstrap_servers)
