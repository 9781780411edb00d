"""Write records and wait for each: the simplest way, and the surest to understand.

    python produce_and_wait.py [BOOTSTRAP]

Without an address it starts a broker inside of this process.
"""

import sys

from distributedlog import Producer
from distributedlog.client.errors import RecordTooLarge
from distributedlog.client.serialisers import to_json, to_text
from distributedlog.testing import EmbeddedBroker


def main(bootstrap: str) -> None:
    with Producer(bootstrap, key_serializer=to_text, value_serializer=to_json) as producer:
        for user, action in (("ann", "signed in"), ("bob", "signed in"), ("ann", "bought a hat")):
            future = producer.send("events", {"user": user, "action": action}, key=user)
            where = future.result(timeout=30)  # raises what went wrong
            print(f"{user} {action}: offset {where.offset} of partition {where.partition}")
        try:
            producer.send("events", "x" * 5_000_000)
        except RecordTooLarge as error:
            print(f"refused: {str(error).partition(',')[0]}")
    print("closed: all that was sent is acknowledged")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with EmbeddedBroker() as broker:
            main(broker.bootstrap_servers)
