"""The features of the cluster (KIP-584): what Kafka's clients and tools look at to know what they may do.

``metadata.version`` names the release whose metadata records we write, 4.0. ``group.version`` 1 is the
consumer group protocol of KIP-848. ``transaction.version`` 2 lets the epoch of a producer rise with every
transaction (KIP-890); 1 is about how transactions are recorded. What is not here is not offered.
"""

from collections.abc import Mapping
from typing import Final

METADATA_VERSION: Final = "metadata.version"
GROUP_VERSION: Final = "group.version"
TRANSACTION_VERSION: Final = "transaction.version"

#: What a new cluster is given.
FEATURE_LEVELS: Final[Mapping[str, int]] = {METADATA_VERSION: 25, GROUP_VERSION: 1, TRANSACTION_VERSION: 2}
#: The levels that this software can do, first and last.
SUPPORTED_LEVELS: Final[Mapping[str, tuple[int, int]]] = {
    METADATA_VERSION: (7, 25),
    GROUP_VERSION: (0, 1),
    TRANSACTION_VERSION: (0, 2),
}
