"""Write a whole table, a row a record, without a Python object for any of them.

    python send_table.py [BOOTSTRAP]

Without an address it starts a broker inside of this process. Needs the extra `arrow`.
"""

import sys

import pyarrow as pa

from distributedlog import Admin, Producer
from distributedlog.testing import EmbeddedBroker

ROWS = 200_000


def main(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topic("readings", partitions=4)
    readings = pa.table(
        {
            "sensor": [f"sensor-{number % 1000}" for number in range(ROWS)],
            "celsius": [f"{number % 400 / 10:.1f}" for number in range(ROWS)],
            "at": pa.array([1_700_000_000_000 + number for number in range(ROWS)], pa.timestamp("ms")),
        }
    )
    with Producer(bootstrap, transactional_id="readings-of-today", compression="lz4") as producer:
        with producer.transaction():  # all of it or nothing
            future = producer.send_table("readings", readings, key="sensor", value="celsius", timestamp="at")
        where = future.result()
    print(f"{where.rows} rows in {len(where.partitions)} partitions")
    for index, got in where.partitions.items():
        print(f"partition {index}: {got.rows} rows, offsets {got.first_offset} to {got.last_offset}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with EmbeddedBroker() as broker:
            main(broker.bootstrap_servers)
