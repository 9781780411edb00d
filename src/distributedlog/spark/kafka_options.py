"""[pure] The options ``kafka.*``: Kafka's client settings under Java's names, as jobs have them already.

Some mean something here; some are known to Kafka's clients and have nothing to set here (a job that moves
over may keep them); some Spark decides itself, and refuses as its own connector does. Anything else is a
slip of the pen and an error.

What comes out can be pickled and compared: it travels to the workers, where it is the key under which
connections are kept.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from distributedlog.client import ClientSettings, parse_bootstrap
from distributedlog.client.errors import InvalidBootstrap, InvalidOption
from distributedlog.spark.errors import InvalidSparkOption, UnknownSparkOption
from distributedlog.spark.options import KAFKA_PREFIX, nearest

#: Texts by their names in `ClientSettings`.
_TEXTS: Final = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_username",
    "sasl.password": "sasl_password",
}
_NUMBERS: Final = {
    "request.timeout.ms": "request_timeout_ms",
    "default.api.timeout.ms": "default_api_timeout_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "retry.backoff.max.ms": "retry_backoff_max_ms",
    "metadata.max.age.ms": "metadata_max_age_ms",
    "socket.connection.setup.timeout.ms": "socket_connection_setup_timeout_ms",
}
_OTHERS: Final = (
    "bootstrap.servers",
    "sasl.jaas.config",
    "ssl.ca.location",
    "ssl.truststore.location",
    "ssl.truststore.type",
    "ssl.endpoint.identification.algorithm",
)
#: Settings of Kafka's clients that change nothing about what is read or written here.
_WITHOUT_EFFECT: Final = frozenset(
    {
        "allow.auto.create.topics", "auto.commit.interval.ms", "auto.include.jmx.reporter", "check.crcs",
        "client.dns.lookup", "client.rack", "connections.max.idle.ms", "enable.metrics.push",
        "exclude.internal.topics", "fetch.max.wait.ms", "fetch.min.bytes", "group.instance.id",
        "group.protocol", "heartbeat.interval.ms", "max.partition.fetch.bytes", "max.poll.interval.ms",
        "max.poll.records", "metadata.recovery.strategy", "metric.reporters", "metrics.num.samples",
        "metrics.recording.level", "metrics.sample.window.ms", "partition.assignment.strategy",
        "receive.buffer.bytes", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
        "sasl.kerberos.service.name", "send.buffer.bytes", "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "ssl.enabled.protocols", "ssl.protocol",
    }
)  # fmt: skip
_REFUSED: Final = {
    "key.deserializer": "keys come as bytes: turn them into columns with distributedlog.spark.functions",
    "value.deserializer": "values come as bytes: turn them into columns with distributedlog.spark.functions",
    "key.serializer": "keys are taken as text or bytes: turn columns into them before writing",
    "value.serializer": "values are taken as text or bytes: turn columns into them before writing",
    "interceptor.classes": "what passes through Spark cannot be intercepted by Java classes",
    "auto.offset.reset": "use the option 'startingOffsets'",
    "enable.auto.commit": "Spark keeps the offsets; a group gets them after each batch",
    "transactional.id": "use the option 'exactlyOnce'",
}
_JAAS_FIELD: Final = r'\b{}\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))'


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Where the cluster is and how to talk to it; hashable, so that it can name a shared connection."""

    bootstrap: str
    settings: tuple[tuple[str, Any], ...] = ()
    ca_file: str | None = None
    checks_host_name: bool = True

    def client_settings(self) -> ClientSettings:
        settings = dict(self.settings)
        if self.ca_file is not None or not self.checks_host_name:
            import ssl  # noqa: PLC0415  (only secured clusters pay for it)

            context = ssl.create_default_context(cafile=self.ca_file)
            context.check_hostname = self.checks_host_name
            settings["ssl_context"] = context
        return ClientSettings(**settings)


def client_options(kafka: Mapping[str, str], used_elsewhere: Iterable[str], **defaults: Any) -> ClientOptions:
    """The client that ``kafka.*`` describes.

    `used_elsewhere` names the settings that the caller reads itself (``group.id``, ``acks``); `defaults` are
    fields of `ClientSettings` that apply unless the user says otherwise.
    """
    elsewhere = set(used_elsewhere)
    settings = dict(defaults)
    for name, text in kafka.items():
        if name in _TEXTS:
            settings[_TEXTS[name]] = text
        elif name in _NUMBERS:
            settings[_NUMBERS[name]] = _number(name, text)
        elif name == "sasl.jaas.config":
            settings |= _credentials(text)
        elif name not in elsewhere and name not in _OTHERS:
            _check_known(name, elsewhere)
    bootstrap = kafka.get("bootstrap.servers", "").strip()
    if not bootstrap:
        raise InvalidSparkOption("the option 'kafka.bootstrap.servers' is missing: which cluster is meant?")
    try:
        parse_bootstrap(bootstrap)
        ClientSettings(**settings)
    except InvalidBootstrap as error:
        raise InvalidSparkOption(f"option 'kafka.bootstrap.servers': {error}") from None
    except InvalidOption as error:
        raise InvalidSparkOption(f"among the options 'kafka.*': {error}") from None
    return ClientOptions(
        bootstrap, tuple(sorted(settings.items())), _ca_file(kafka), _checks_host_name(kafka)
    )


def _check_known(name: str, elsewhere: set[str]) -> None:
    if name in _REFUSED:
        raise InvalidSparkOption(f"option 'kafka.{name}' cannot be set: {_REFUSED[name]}")
    if name in _WITHOUT_EFFECT:
        return
    known = [*_TEXTS, *_NUMBERS, *_OTHERS, *_WITHOUT_EFFECT, *elsewhere]
    suggestion = nearest(name, {known_name: KAFKA_PREFIX + known_name for known_name in known})
    raise UnknownSparkOption(f"there is no option 'kafka.{name}'{suggestion}")


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidSparkOption(f"option 'kafka.{name}' is {text!r}; it must be a whole number") from None


def _credentials(jaas: str) -> dict[str, str]:
    """User and password of the line that Java's clients take: ``…LoginModule required username="u" …;``."""
    found = {}
    for field in ("username", "password"):
        match = re.search(_JAAS_FIELD.format(field), jaas)
        if match is None:
            raise InvalidSparkOption(
                f"option 'kafka.sasl.jaas.config' has no {field}; PLAIN and SCRAM are what can be used here"
            )
        quoted, bare = match.groups()
        found[f"sasl_{field}"] = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return found


def _ca_file(kafka: Mapping[str, str]) -> str | None:
    location = kafka.get("ssl.ca.location") or kafka.get("ssl.truststore.location")
    kind = kafka.get("ssl.truststore.type", "PEM").upper()
    if location and (kind != "PEM" or location.endswith((".jks", ".p12", ".pkcs12"))):
        raise InvalidSparkOption(
            f"the trust store {location!r} is not a PEM file, the only kind that can be read here: "
            "export the certificates with keytool -exportcert -rfc"
        )
    return location or None


def _checks_host_name(kafka: Mapping[str, str]) -> bool:
    """Kafka turns the check off with an empty name of the algorithm."""
    return kafka.get("ssl.endpoint.identification.algorithm", "https") != ""
