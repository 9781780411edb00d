"""What a caller may do, as bits: everything, while there is no authoriser to ask.

The bits are the numbers of Kafka's operations: 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe,
9 cluster action, 10 describe configs, 11 alter configs, 12 idempotent write.
"""

from typing import Final

NOT_ASKED_FOR: Final = -(2**31)
TOPIC_OPERATIONS: Final = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS: Final = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))
