"""The client libraries by name, each in the shape that `face` describes."""

from tests.clients import aiokafka_client, confluent_client, kafka_python_client

CLIENTS = {
    "confluent-kafka": confluent_client,
    "aiokafka": aiokafka_client,
    "kafka-python": kafka_python_client,
}
