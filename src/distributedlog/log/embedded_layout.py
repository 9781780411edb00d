"""Where an embedded log lives in its data directory: writer and readers must agree."""

from typing import Final

TOPIC: Final = "log"
PARTITION: Final = 0
