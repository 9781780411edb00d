"""[pure] A producer's options under Kafka's names."""

from typing import TYPE_CHECKING, Any, Final

from distributedlog.client.errors import InvalidOption
from distributedlog.client.options import Options, option
from distributedlog.records import Compression

if TYPE_CHECKING:
    from distributedlog.client.producer.circuit_breaker import CircuitBreaker

ACKS: Final = {0: 0, 1: 1, -1: -1, "0": 0, "1": 1, "-1": -1, "all": -1}
ACKS_ALL: Final = -1
ACKS_NONE: Final = 0
IN_FLIGHT_MAX_WITH_IDEMPOTENCE: Final = 5


class ProducerSettings(Options):
    """As in Kafka's own producer, except that ``batch_size`` is larger: Python pays more for each batch.

    ``partitioner`` is a name of ``partitioners.BY_NAME``, or a callable that takes topic, key and number of
    partitions and returns an index, or None to leave it to the producer. ``load_aware`` asks the brokers'
    HTTP ports, ``metadata_api``, every ``metadata_api_interval_ms``.

    Batches of `send_table` are larger, ``table_batch_size``: their cost is by batch, not by record.
    """

    acks: int | str = option(default="all", choices=tuple(ACKS))
    linger_ms: float = option(default=5, least=0)
    batch_size: int = option(default=128 * 1024, least=0)
    buffer_memory: int = option(default=32 * 1024 * 1024, least=1)
    max_block_ms: float = option(default=60_000, least=0)
    max_request_size: int = option(default=1024 * 1024, least=1)
    max_in_flight: int = option(default=5, least=1)
    delivery_timeout_ms: float = option(default=120_000, least=1)
    retries: int = option(default=2**31 - 1, least=0)
    compression: str = option(default="none", choices=tuple(codec.name.lower() for codec in Compression))
    compression_level: int | None = None
    enable_idempotence: bool | None = None
    partitioner: Any = "default"
    metadata_api: str | None = None
    metadata_api_interval_ms: float = option(default=5_000, least=1)
    table_batch_size: int = option(default=768 * 1024, least=1)
    transactional_id: str | None = None
    transaction_timeout_ms: int = option(default=60_000, least=1)
    allow_auto_create_topics: bool = True
    key_serializer: Any = None
    value_serializer: Any = None
    circuit_breaker: "CircuitBreaker | None" = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.enable_idempotence or self.transactional_id is not None:
            what = "transactional_id" if self.transactional_id is not None else "enable_idempotence"
            if self.acks_number != ACKS_ALL:
                raise InvalidOption(f"{what} needs acks='all', but acks is {self.acks!r}")
            if self.max_in_flight > IN_FLIGHT_MAX_WITH_IDEMPOTENCE:
                raise InvalidOption(
                    f"{what} needs max_in_flight of at most {IN_FLIGHT_MAX_WITH_IDEMPOTENCE}: "
                    f"a broker remembers no more batches, but it is {self.max_in_flight}"
                )
            if self.enable_idempotence is False:
                raise InvalidOption(f"{what} needs enable_idempotence, which is False")
        if (self.partitioner == "load_aware") != (self.metadata_api is not None):
            raise InvalidOption(
                "partitioner='load_aware' and metadata_api='host:port,host:port' need each other: the latter "
                "names the HTTP ports of the brokers (their setting metrics.listener)"
            )
        if self.transactional_id == "":
            raise InvalidOption("transactional_id is empty; give it a name or leave it out")

    @property
    def acks_number(self) -> int:
        return ACKS[self.acks]

    @property
    def compression_codec(self) -> Compression:
        return Compression[self.compression.upper()]

    @property
    def is_idempotent(self) -> bool:
        """On by default, but not where the other options rule it out."""
        if self.enable_idempotence is not None:
            return self.enable_idempotence
        return self.acks_number == ACKS_ALL and self.max_in_flight <= IN_FLIGHT_MAX_WITH_IDEMPOTENCE
