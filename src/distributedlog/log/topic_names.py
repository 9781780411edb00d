"""Kafka's rule for names of topics, which are names of directories too [pure]."""

import re
from typing import Final

from distributedlog.log.errors import InvalidTopicName

TOPIC_NAME_LENGTH_MAX: Final = 249
_TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(topic: str) -> None:
    """InvalidTopicName for any other."""
    if topic in ("", ".", "..") or len(topic) > TOPIC_NAME_LENGTH_MAX or not _TOPIC_NAME.fullmatch(topic):
        raise InvalidTopicName(topic)
