"""Which APIs this broker serves: those that have a handler, in all the versions that the codec knows.

What a client is told (``ADVERTISED``) is another table. Produce is told from version 0 on (KAFKA-18659), and
telemetry is not told at all, as Kafka does not tell it while no one has subscribed: a client that does not
know of it sends none, and one that asks all the same hears that there is nothing to send.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from distributedlog.wire.apis import ADVERTISED_VERSIONS, APIS

_SERVED: Final = (
    0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 32, 33, 35, 37,
    42, 44, 47, 48, 49, 50, 60, 61, 65, 66, 68, 69, 71, 72, 75,
)  # fmt: skip
_NOT_TOLD: Final = frozenset({71, 72})

#: Versions that Kafka has drafted and does not serve yet: InitProducerId 6 belongs to KIP-939.
_LAST: Final = {22: 5}

#: First and last version by key.
SERVED_VERSIONS: Final[Mapping[int, tuple[int, int]]] = MappingProxyType(
    {key: (APIS[key].first, _LAST.get(key, APIS[key].last)) for key in _SERVED}
)

#: What ApiVersions tells.
ADVERTISED: Final[Mapping[int, tuple[int, int]]] = MappingProxyType(
    {key: (ADVERTISED_VERSIONS[key][0], SERVED_VERSIONS[key][1]) for key in _SERVED if key not in _NOT_TOLD}
)
