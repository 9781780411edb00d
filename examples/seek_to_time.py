"""Read what happened since a moment, without reading what came before.

python examples/seek_to_time.py                    with a broker of its own
python examples/seek_to_time.py localhost:9092     with yours
"""

import sys
from datetime import UTC, datetime, timedelta

from distributedlog import Consumer, TopicPartition
from distributedlog.client.producer.producer import Producer
from distributedlog.testing import EmbeddedBroker

NOON = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def run(servers: str) -> None:
    with Producer(servers) as producer:
        for minutes in range(0, 60, 5):
            moment = NOON + timedelta(minutes=minutes)
            producer.send("readings", b"%d degrees" % (20 + minutes // 5), timestamp=milliseconds(moment))

    with Consumer(servers, auto_offset_reset="earliest") as consumer:
        partitions = [
            TopicPartition("readings", index) for index in range(consumer.partitions_for("readings"))
        ]
        consumer.assign(partitions)
        consumer.seek_to_time(milliseconds(NOON + timedelta(minutes=42)))
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for record in consumer.poll():
                moment = datetime.fromtimestamp(record.timestamp / 1000, UTC)
                print(f"{moment:%H:%M} {record.value.decode()}")
        found = consumer.offsets_for_times({partitions[0]: milliseconds(NOON + timedelta(hours=1))})
        print(f"at one o'clock there is {found[partitions[0]]}")


def main() -> None:
    if sys.argv[1:]:
        run(sys.argv[1])
    else:
        with EmbeddedBroker() as broker:
            run(broker.bootstrap_servers)


if __name__ == "__main__":
    main()
