"""Producers of Python under load: `python -m bench.load_producers CLIENT ACTION …` prints JSON.

Every client with its own defaults, but for ``acks=all`` and what its users do when they want throughput.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

SECONDS_MAX = 120.0
IN_FLIGHT_MAX = 50_000
"""Of futures that nobody has looked at yet: whoever keeps all of them measures memory."""

Result = dict[str, Any]


def rate(records: int, begun: float) -> Result:
    return {"records_per_second": records / (time.perf_counter() - begun)}


def ours(bootstrap: str, topic: str, records: int, size: int) -> Result:
    from distributedlog import Producer

    value = bytes(size)
    with Producer(bootstrap) as producer:
        producer.partitions_for(topic)
        for _ in range(2):  # the first is for imports
            futures = []
            begun = time.perf_counter()
            for _ in range(records):
                futures.append(producer.send(topic, value))
                if len(futures) == IN_FLIGHT_MAX:
                    for future in futures:
                        future.result(SECONDS_MAX)
                    futures.clear()
            producer.flush()
            for future in futures:
                future.result(0)
            result = rate(records, begun)
    return result


def ours_async(bootstrap: str, topic: str, records: int, size: int) -> Result:
    from distributedlog import AsyncProducer

    async def main() -> Result:
        value = bytes(size)
        async with AsyncProducer(bootstrap) as producer:
            await producer.partitions_for(topic)
            futures = []
            begun = time.perf_counter()
            for _ in range(records):
                futures.append(await producer.send(topic, value))
                if len(futures) == IN_FLIGHT_MAX:
                    for future in futures:
                        await future
                    futures.clear()
            await producer.flush()
            for future in futures:
                await future
            return rate(records, begun)

    return asyncio.run(main())


def table(bootstrap: str, topic: str, records: int, size: int) -> Result:
    import pyarrow as pa

    from distributedlog import Producer

    piece = pa.table({"value": pa.array([bytes(size)] * (records // 10))})
    whole = pa.concat_tables([piece] * 10)
    best = 0.0
    with Producer(bootstrap) as producer:
        producer.send_table(topic, piece).result(SECONDS_MAX)
        for _ in range(3):
            begun = time.perf_counter()
            producer.send_table(topic, whole).result(SECONDS_MAX)
            best = max(best, rate(whole.num_rows, begun)["records_per_second"])
    return {"records_per_second": best}


def aiokafka(bootstrap: str, topic: str, records: int, size: int) -> Result:
    from aiokafka import AIOKafkaProducer

    async def main() -> Result:
        value = bytes(size)
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", max_batch_size=128 * 1024)
        await producer.start()
        await producer.send_and_wait(topic, value)
        futures = []
        begun = time.perf_counter()
        for _ in range(records):
            futures.append(await producer.send(topic, value))
            if len(futures) == IN_FLIGHT_MAX:
                for future in futures:
                    await future
                futures.clear()
        await producer.flush()
        for future in futures:
            await future
        result = rate(records, begun)
        await producer.stop()
        return result

    return asyncio.run(main())


def kafka_python(bootstrap: str, topic: str, records: int, size: int) -> Result:
    from kafka import KafkaProducer

    value = bytes(size)
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", batch_size=128 * 1024)
    producer.send(topic, value).get(SECONDS_MAX)
    futures = []
    begun = time.perf_counter()
    for _ in range(records):
        futures.append(producer.send(topic, value))
        if len(futures) == IN_FLIGHT_MAX:
            for future in futures:
                future.get(SECONDS_MAX)
            futures.clear()
    producer.flush()
    for future in futures:
        future.get(SECONDS_MAX)
    result = rate(records, begun)
    producer.close()
    return result


def confluent(bootstrap: str, topic: str, records: int, size: int) -> Result:
    from bench.load_confluent import produce

    return produce(bootstrap, topic, records, size, "all")


def median_ms(send: Callable[[], object], records: int) -> Result:
    clock = time.perf_counter
    for _ in range(200):
        send()
    taken = []
    for _ in range(records):
        begun = clock()
        send()
        taken.append(clock() - begun)
    taken.sort()
    return {"p50_ms": taken[records // 2] * 1e3, "p99_ms": taken[records * 99 // 100] * 1e3}


def ours_latency(bootstrap: str, topic: str, records: int, size: int) -> Result:
    from distributedlog import Producer

    value = bytes(size)
    with Producer(bootstrap) as producer:
        return median_ms(lambda: producer.send(topic, value).result(SECONDS_MAX), records)


def confluent_latency(bootstrap: str, topic: str, records: int, size: int) -> Result:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0})
    value = bytes(size)

    def send() -> None:
        producer.produce(topic, value)
        producer.flush(SECONDS_MAX)

    return median_ms(send, records)


ACTIONS = {
    "ours": ours,
    "ours_async": ours_async,
    "table": table,
    "aiokafka": aiokafka,
    "kafka_python": kafka_python,
    "confluent": confluent,
    "ours_latency": ours_latency,
    "confluent_latency": confluent_latency,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("records", type=int)
    parser.add_argument("--size", type=int, default=100)
    arguments = parser.parse_args()
    action = ACTIONS[arguments.action]
    print(json.dumps(action(arguments.bootstrap, arguments.topic, arguments.records, arguments.size)))


if __name__ == "__main__":
    main()
