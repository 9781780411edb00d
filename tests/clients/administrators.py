"""The three libraries' administration behind one face: `make`, `setting`, `change`, `grow`, `delete`."""

import asyncio

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewPartitions as AioNewPartitions
from aiokafka.admin import NewTopic as AioNewTopic
from aiokafka.admin.config_resource import ConfigResource as AioConfigResource
from aiokafka.admin.config_resource import ConfigResourceType as AioResourceType
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource as KafkaPythonResource
from kafka.admin import ConfigResourceType as KafkaPythonResourceType
from kafka.admin import NewTopic as KafkaPythonNewTopic
from tests.clients.face import DEADLINE_SECONDS

DEADLINE_MS = DEADLINE_SECONDS * 1000


class Confluent:
    def __init__(self, bootstrap):
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def _result(self, futures):
        [future] = futures.values()
        return future.result(DEADLINE_SECONDS)

    def make(self, topic, partitions, configs):
        self._result(self._admin.create_topics([NewTopic(topic, partitions, 1, config=configs)]))

    def partitions(self, topic):
        """How many; None where there is no such topic."""
        found = self._admin.list_topics(timeout=DEADLINE_SECONDS).topics.get(topic)
        return found and len(found.partitions)

    def setting(self, topic, name):
        """The value, and whether it is a default."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entry = self._result(self._admin.describe_configs([resource]))[name]
        return entry.value, entry.source == ConfigSource.DEFAULT_CONFIG.value

    def change(self, topic, name, value):
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        self._result(self._admin.incremental_alter_configs([resource]))

    def grow(self, topic, partitions):
        self._result(self._admin.create_partitions([NewPartitions(topic, partitions)]))

    def delete(self, topic):
        self._result(self._admin.delete_topics([topic]))

    def close(self):
        pass


class KafkaPython:
    def __init__(self, bootstrap):
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def make(self, topic, partitions, configs):
        self._admin.create_topics([KafkaPythonNewTopic(topic, partitions, 1, topic_configs=configs)])

    def partitions(self, topic):
        if topic not in self._admin.list_topics():
            return None
        [found] = self._admin.describe_topics([topic])
        return len(found["partitions"])

    def setting(self, topic, name):
        resource = KafkaPythonResource(KafkaPythonResourceType.TOPIC, topic, configs=[name])
        found = self._admin.describe_configs([resource], config_filter="all")
        entry = found["topic"][topic][name]
        return entry["value"], entry["config_source"] == "DEFAULT_CONFIG"

    def change(self, topic, name, value):
        resource = KafkaPythonResource(KafkaPythonResourceType.TOPIC, topic, configs={name: value})
        self._admin.alter_configs([resource])

    def grow(self, topic, partitions):
        self._admin.create_partitions({topic: partitions})

    def delete(self, topic):
        self._admin.delete_topics([topic])

    def close(self):
        self._admin.close()


class Aiokafka:
    DEFAULT_CONFIG = 5

    def __init__(self, bootstrap):
        self._loop = asyncio.new_event_loop()
        self._run(self._start(bootstrap))

    async def _start(self, bootstrap):
        self._admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await self._admin.start()

    def _run(self, coroutine):
        return self._loop.run_until_complete(asyncio.wait_for(coroutine, DEADLINE_SECONDS))

    def make(self, topic, partitions, configs):
        made = AioNewTopic(topic, partitions, 1, topic_configs=configs)
        response = self._run(self._admin.create_topics([made]))
        assert [each[1] for each in response.topic_errors] == [0], response

    def partitions(self, topic):
        if topic not in self._run(self._admin.list_topics()):
            return None
        [found] = self._run(self._admin.describe_topics([topic]))
        return len(found["partitions"])

    def setting(self, topic, name):
        resource = AioConfigResource(AioResourceType.TOPIC, topic, configs={name: ""})
        [response] = self._run(self._admin.describe_configs([resource]))
        [[_, _, _, _, [[_, value, _, source, *_]]]] = response.resources
        return value, source == self.DEFAULT_CONFIG

    def change(self, topic, name, value):
        resource = AioConfigResource(AioResourceType.TOPIC, topic, configs={name: value})
        [response] = self._run(self._admin.alter_configs([resource]))
        assert response.resources[0][0] == 0, response

    def grow(self, topic, partitions):
        self._run(self._admin.create_partitions({topic: AioNewPartitions(partitions)}))

    def delete(self, topic):
        response = self._run(self._admin.delete_topics([topic]))
        assert [each[1] for each in response.topic_error_codes] == [0], response

    def close(self):
        self._run(self._admin.close())
        self._loop.close()


ADMINISTRATORS = {"confluent-kafka": Confluent, "aiokafka": Aiokafka, "kafka-python": KafkaPython}
