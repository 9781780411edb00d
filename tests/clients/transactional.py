"""A transactional producer of each library under one face: `TRANSACTIONAL` has them by name.

``begin``, ``send``, ``send_offsets``, ``commit``, ``abort``, ``close``; what the broker refuses is `Refused`
with Kafka's number of the error. ``read_committed`` reads a partition to its last stable offset.
"""

import asyncio
import re

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.errors import KafkaError as AioKafkaError
from aiokafka.errors import ProducerFenced
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonTopicPartition
from kafka.errors import KafkaError as PythonKafkaError
from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata
from tests.clients import confluent_client
from tests.clients.face import DEADLINE_SECONDS, RETRY_MS, Refused

from distributedlog.wire import ErrorCode


class Confluent:
    def __init__(self, bootstrap, transactional_id):
        self._producer = confluent_client.producer(
            bootstrap, **{"transactional.id": transactional_id, "linger.ms": 0}
        )
        self._do(self._producer.init_transactions, DEADLINE_SECONDS)

    def _do(self, step, *arguments):
        try:
            return step(*arguments)
        except KafkaException as failure:
            raise Refused(failure.args[0].code(), failure.args[0].str()) from None

    def begin(self):
        self._do(self._producer.begin_transaction)

    def send(self, topic, value, partition=0):
        self._producer.produce(topic, value, partition=partition)

    def flush(self):
        self._producer.flush(DEADLINE_SECONDS)

    def send_offsets(self, offsets, group):
        """Without being a member: a group that somebody else keeps."""
        places = [TopicPartition(*place, offset) for place, offset in offsets.items()]
        consumer = confluent_client.consumer("127.0.0.1:1", group)
        self._do(self._producer.send_offsets_to_transaction, places, consumer.consumer_group_metadata())
        consumer.close()

    def commit(self):
        self._do(self._producer.commit_transaction, DEADLINE_SECONDS)

    def abort(self):
        self._do(self._producer.abort_transaction, DEADLINE_SECONDS)

    def close(self):
        self._producer = None

    @staticmethod
    def read_committed(bootstrap, topic, partition=0, offset=0):
        reader = confluent_client.consumer(bootstrap, **{"enable.partition.eof": True})
        reader.assign([TopicPartition(topic, partition, offset)])
        values = []
        while True:
            for message in reader.consume(500, 0.1):
                if message.error() is None:
                    values.append(message.value())
                else:
                    assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                    reader.close()
                    return values


class Aio:
    """With an event loop of its own, which turns only in the calls."""

    def __init__(self, bootstrap, transactional_id):
        self._loop = asyncio.new_event_loop()
        self._run(self._start(bootstrap, transactional_id))

    async def _start(self, bootstrap, transactional_id):
        self._producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, retry_backoff_ms=RETRY_MS
        )
        await self._producer.start()

    def _run(self, coroutine):
        try:
            return self._loop.run_until_complete(asyncio.wait_for(coroutine, DEADLINE_SECONDS))
        except ProducerFenced as error:  # which has no number
            raise Refused(ErrorCode.PRODUCER_FENCED, str(error)) from None
        except AioKafkaError as error:
            raise Refused(error.errno, str(error)) from None

    def begin(self):
        self._run(self._producer.begin_transaction())

    def send(self, topic, value, partition=0):
        self._run(self._producer.send(topic, value, partition=partition))

    def flush(self):
        self._run(self._producer.flush())

    def send_offsets(self, offsets, group):
        places = {AioTopicPartition(*place): offset for place, offset in offsets.items()}
        self._run(self._producer.send_offsets_to_transaction(places, group))

    def commit(self):
        self._run(self._producer.commit_transaction())

    def abort(self):
        self._run(self._producer.abort_transaction())

    def close(self):
        self._run(self._producer.stop())
        self._loop.close()

    @staticmethod
    def read_committed(bootstrap, topic, partition=0, offset=0):
        async def read():
            place = AioTopicPartition(topic, partition)
            settings = {"isolation_level": "read_committed", "fetch_max_wait_ms": 50}
            async with AIOKafkaConsumer(bootstrap_servers=bootstrap, **settings) as reader:
                reader.assign([place])
                reader.seek(place, offset)
                end, values = (await reader.end_offsets([place]))[place], []
                while await reader.position(place) < end:
                    for records in (await reader.getmany(timeout_ms=100)).values():
                        values += [record.value for record in records]
                return values

        return asyncio.run(asyncio.wait_for(read(), DEADLINE_SECONDS))


def _code_of(error):
    """What the library says of itself has no code but in its words; -1 where there is none either."""
    told = re.search(r"\[Error (\d+)\]", str(error))
    return getattr(error, "errno", int(told[1]) if told else -1)


class Python:
    def __init__(self, bootstrap, transactional_id):
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, retry_backoff_ms=RETRY_MS
        )
        self._do(self._producer.init_transactions)

    def _do(self, step, *arguments):
        try:
            return step(*arguments)
        except PythonKafkaError as error:
            raise Refused(_code_of(error), str(error)) from None

    def begin(self):
        self._do(self._producer.begin_transaction)

    def send(self, topic, value, partition=0):
        self._do(lambda: self._producer.send(topic, value, partition=partition))

    def flush(self):
        self._do(self._producer.flush)

    def send_offsets(self, offsets, group):
        places = {
            PythonTopicPartition(*place): OffsetAndMetadata(offset, "", -1)
            for place, offset in offsets.items()
        }
        self._do(
            self._producer.send_offsets_to_transaction, places, ConsumerGroupMetadata(group, -1, "", None)
        )

    def commit(self):
        self._do(self._producer.commit_transaction)

    def abort(self):
        self._do(self._producer.abort_transaction)

    def close(self):
        self._producer.close()

    @staticmethod
    def read_committed(bootstrap, topic, partition=0, offset=0):
        place = PythonTopicPartition(topic, partition)
        reader = KafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed", fetch_max_wait_ms=50
        )
        try:
            reader.assign([place])
            reader.seek(place, offset)
            end, values = reader.end_offsets([place])[place], []
            while reader.position(place) < end:
                for records in reader.poll(timeout_ms=100).values():
                    values += [record.value for record in records]
            return values
        finally:
            reader.close()


TRANSACTIONAL = {"confluent-kafka": Confluent, "aiokafka": Aio, "kafka-python": Python}
