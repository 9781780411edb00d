"""Transactions through confluent-kafka, and ids by raw requests: `python -m bench.load_transactions …`
prints JSON.
"""

import argparse
import json
import time
from typing import Any

from confluent_kafka import KafkaError, Producer

from bench.raw_client import RawClient
from distributedlog.wire.k10_find_coordinator import FindCoordinatorRequest
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest
from distributedlog.wire.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from distributedlog.wire.k26_end_txn import EndTxnRequest

SECONDS_MAX = 60
#: What is not measured, so that connections and compilers are warm.
WARM_UP = 50
FIND_COORDINATOR, INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN = 10, 22, 24, 26
TRANSACTION_KEY_TYPE = 1


def transactions(
    bootstrap: str, topic: str, count: int, records: int, partitions: int, size: int
) -> dict[str, Any]:
    """One after the other, each of so many records over so many partitions, each committed."""
    producer = _producer(bootstrap, **{"transactional.id": f"{topic}-{time.time_ns()}"})
    producer.init_transactions(SECONDS_MAX)
    value = bytes(size)
    begun = 0.0
    for number in range(-WARM_UP, count):
        if number == 0:
            begun = time.perf_counter()
        producer.begin_transaction()
        for place in range(records):
            producer.produce(topic, value, partition=place % partitions)
        producer.commit_transaction(SECONDS_MAX)
    return {"per_second": count / (time.perf_counter() - begun)}


def plain(bootstrap: str, topic: str, count: int, records: int, partitions: int, size: int) -> dict[str, Any]:
    """The same records by an idempotent producer in the same portions, each acknowledged as a whole."""
    failures: list[KafkaError] = []
    producer = _producer(bootstrap, on_delivery=lambda error, _: failures.append(error) if error else None)
    value = bytes(size)
    begun = 0.0
    for number in range(-WARM_UP, count):
        if number == 0:
            begun = time.perf_counter()
        for place in range(records):
            producer.produce(topic, value, partition=place % partitions)
        if producer.flush(SECONDS_MAX) or failures:
            raise RuntimeError(f"not everything was acknowledged: {failures[:3]}")
    return {"per_second": count / (time.perf_counter() - begun)}


def _producer(bootstrap: str, **settings: Any) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 0,
            **settings,
        }
    )


def ids(bootstrap: str, topic: str, count: int) -> dict[str, Any]:
    """So many transactional ids, each with a transaction behind it. They have four records each."""
    client = RawClient(bootstrap)
    find = FindCoordinatorRequest(key_type=TRANSACTION_KEY_TYPE, coordinator_keys=["id-0"])
    while client.ask(FIND_COORDINATOR, 4, find).coordinators[0].error_code:
        pass
    begun = time.perf_counter()
    for number in range(count):
        name = f"id-{number}"
        while (got := client.ask(INIT_PRODUCER_ID, 4, InitProducerIdRequest(name, 60_000))).error_code:
            pass
        add = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=got.producer_id,
            v3_and_below_producer_epoch=got.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(topic, [0])],
        )
        added = client.ask(ADD_PARTITIONS, 3, add).results_by_topic_v3_and_below
        end = EndTxnRequest(name, got.producer_id, got.producer_epoch, True)
        ended = client.ask(END_TXN, 3, end)
        if added[0].results_by_partition[0].partition_error_code or ended.error_code:
            raise RuntimeError(f"{name}: {added}, {ended}")
    client.close()
    return {"per_second": count / (time.perf_counter() - begun)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("transactions", "plain", "ids"))
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("count", type=int)
    parser.add_argument("--records", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--size", type=int, default=100)
    arguments = parser.parse_args()
    where = (arguments.bootstrap, arguments.topic, arguments.count)
    shape = (arguments.records, arguments.partitions, arguments.size)
    if arguments.action == "ids":
        result = ids(*where)
    else:
        result = (transactions if arguments.action == "transactions" else plain)(*where, *shape)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
