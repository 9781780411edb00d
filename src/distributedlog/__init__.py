"""A Kafka-compatible streaming platform in Python."""
