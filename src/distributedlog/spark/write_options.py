"""[pure] What may be asked of the writing half: the options of Spark's own Kafka sink, and exactly-once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from distributedlog.records import Compression
from distributedlog.spark.errors import InvalidSparkOption
from distributedlog.spark.kafka_options import ClientOptions, client_options
from distributedlog.spark.options import GivenOptions, sort_options

NAMES: Final = (
    "topic",
    "exactlyOnce",
    "transactionalIdPrefix",
    "stagingDirectory",
    # of the source; Spark's own sink lets them pass, too
    "includeHeaders",
)
#: Settings of a producer that are read here and not by the client.
PRODUCER_SETTINGS: Final = (
    "acks",
    "batch.size",
    "compression.type",
    "delivery.timeout.ms",
    "max.request.size",
    "transaction.timeout.ms",
    # What follows has one right value here, or none at all: see `_check_fixed`.
    "buffer.memory",
    "enable.idempotence",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "partitioner.class",
    "partitioner.ignore.keys",
    "retries",
)
DELIVERY_TIMEOUT_MS: Final = 120_000
TRANSACTION_TIMEOUT_MS: Final = 60_000
TRANSACTIONAL_ID_PREFIX: Final = "distributedlog-spark-"
#: As the Java client's, under the broker's ``message.max.bytes``.
REQUEST_SIZE_MAX: Final = 1_048_576
BATCH_SIZE: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """All of it, checked. Travels to the tasks inside of writers."""

    client: ClientOptions
    #: Where all rows go, whatever the column ``topic`` says; None lets the column decide.
    topic: str | None = None
    exactly_once: bool = False
    transactional_id_prefix: str = TRANSACTIONAL_ID_PREFIX
    staging_directory: str | None = None
    compression: Compression = Compression.NONE
    batch_size: int = BATCH_SIZE
    request_size_max: int = REQUEST_SIZE_MAX
    delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS

    @classmethod
    def of(cls, options: Mapping[str, object]) -> "WriteOptions":
        """Read and check what Spark hands over."""
        given = sort_options(options, NAMES, "writing")
        kafka = GivenOptions(given.kafka, {})
        exactly_once = given.truth("exactlyOnce", default=False)
        _check_fixed(kafka)
        _check_exactly_once_only(given, exactly_once)
        request_size_max = kafka.number("max.request.size", REQUEST_SIZE_MAX) or REQUEST_SIZE_MAX
        batch_size = kafka.number("batch.size", BATCH_SIZE) or BATCH_SIZE
        return cls(
            client=client_options(given.kafka, PRODUCER_SETTINGS),
            topic=given.text("topic"),
            exactly_once=exactly_once,
            transactional_id_prefix=given.text("transactionalIdPrefix") or TRANSACTIONAL_ID_PREFIX,
            staging_directory=given.text("stagingDirectory"),
            compression=_compression(kafka),
            batch_size=min(batch_size, request_size_max),
            request_size_max=request_size_max,
            delivery_timeout_ms=kafka.number("delivery.timeout.ms", DELIVERY_TIMEOUT_MS)
            or DELIVERY_TIMEOUT_MS,
            transaction_timeout_ms=kafka.number("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS)
            or TRANSACTION_TIMEOUT_MS,
        )


def _compression(kafka: GivenOptions) -> Compression:
    names = [kind.name.lower() for kind in Compression]
    try:
        return Compression[kafka.choice("compression.type", names, "none").upper()]
    except InvalidSparkOption as error:
        raise InvalidSparkOption(
            str(error).replace("'compression.type'", "'kafka.compression.type'")
        ) from None


def _check_fixed(kafka: GivenOptions) -> None:
    """Refuse what would weaken the promise, or what promises what is not there."""
    acks = kafka.text("acks")
    if acks not in {None, "all", "-1", "1", "0"}:
        raise InvalidSparkOption(
            f"option 'kafka.acks' is {acks!r}; all replicas are waited for: leave it out"
        )
    if not kafka.truth("enable.idempotence", default=True):
        raise InvalidSparkOption(
            "option 'kafka.enable.idempotence' is false; a retry would write rows twice: leave it out"
        )
    for name in ("partitioner.class", "partitioner.ignore.keys"):
        value = kafka.text(name)
        if value is not None and value.lower() != "false":
            raise InvalidSparkOption(
                f"option 'kafka.{name}' cannot be set: rows go where Kafka's default puts their key; to "
                "choose another partition give the frame a column 'partition'"
            )


def _check_exactly_once_only(given: GivenOptions, exactly_once: bool) -> None:
    if exactly_once:
        return
    for name in ("transactionalIdPrefix", "stagingDirectory"):
        if given.text(name) is not None:
            raise InvalidSparkOption(f"option {name!r} is for exactly-once: set 'exactlyOnce' to true, too")
    if "transaction.timeout.ms" in given.kafka:
        raise InvalidSparkOption(
            "option 'kafka.transaction.timeout.ms' is for exactly-once: set 'exactlyOnce' to true, too"
        )
