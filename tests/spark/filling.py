"""Filling topics for tests, and reading them through the source."""

import time

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

NOW_MS = int(time.time() * 1000) - 60_000
"""Timestamps start here: what is older than the retention would be deleted."""


class Topics:
    """What tests do to topics, at one broker."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def create(self, name, partitions=1, **configs):
        new = NewTopic(
            name, partitions, 1, config={key.replace("_", "."): text for key, text in configs.items()}
        )
        self._admin.create_topics([new])[name].result()
        return name

    def delete(self, name):
        self._admin.delete_topics([name])[name].result()

    def add_partitions(self, name, total):
        self._admin.create_partitions([NewPartitions(name, total)])[name].result()

    def delete_records(self, name, partition, before):
        place = TopicPartition(name, partition, before)
        self._admin.delete_records([place])[place].result()

    def fill(self, name, values, *, partition=0, first_timestamp=NOW_MS, headers=None, **settings):
        """One record a value, a millisecond apart; every third has a key."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, **settings})
        for index, value in enumerate(values):
            producer.produce(
                name,
                value,
                key=None if index % 3 else f"k{index}".encode(),
                partition=partition,
                timestamp=first_timestamp + index,
                headers=headers,
            )
        assert producer.flush(30) == 0

    def transaction(self, name, values, *, commit, partition=0, transactional_id="t"):
        producer = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": transactional_id})
        producer.init_transactions(30)
        producer.begin_transaction()
        for value in values:
            producer.produce(name, value, partition=partition)
        producer.flush(30)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)


def texts(count, prefix="v"):
    return [f"{prefix}{index}".encode() for index in range(count)]


class Source:
    """Reading one broker's topics in one session."""

    def __init__(self, spark, bootstrap):
        self._spark = spark
        self.bootstrap = bootstrap

    def batch(self, topic, **options):
        return self._with_options(self._spark.read, topic, options).load()

    def stream(self, topic, **options):
        return self._with_options(self._spark.readStream, topic, options).load()

    def _with_options(self, reader, topic, options):
        reader = reader.format("distributedlog").option("kafka.bootstrap.servers", self.bootstrap)
        if topic is not None:
            reader = reader.option("subscribe", topic)
        for key, value in options.items():
            reader = reader.option(key.replace("__", "."), value)
        return reader

    def run(self, stream, checkpoint, name="out"):
        """Read what there is and end; what came in this run, as a list of values."""
        rows = []

        def keep(batch, _):
            rows.extend(bytes(row["value"]).decode() for row in batch.collect())

        query = (
            stream.writeStream.queryName(name)
            .option("checkpointLocation", str(checkpoint))
            .foreachBatch(keep)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(60)
        assert not query.isActive
        return rows, query
