"""What a node is started with: defaults, then `dlog.toml`, then the environment, then the command line.

Every setting has Kafka's name (`log.retention.ms`). A file may write it as a dotted key or in tables; the
environment as DLOG_LOG_RETENTION_MS; the command line as ``--set log.retention.ms=1000``. `data`, `listen`
and `metrics` are short names for the three that everyone needs. Whatever is unknown or impossible is a
`SettingsError`, which names the place, the key and the nearest key there is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from distributedlog.broker.config import BROKER_KEYS, BrokerConfig
from distributedlog.log.config_key import ConfigKey, ConfigType, one_of
from distributedlog.log.errors import InvalidConfig
from distributedlog.server.addresses import (
    Address,
    parse_address,
    parse_advertised,
    parse_listeners,
)

DEFAULT_FILE: Final = "dlog.toml"
ENVIRONMENT_PREFIX: Final = "DLOG_"
#: Names of the same prefix that are no settings of a node: the first is for the commands that talk to a
#: cluster, by the others the project's own test suite is steered.
_NOT_SETTINGS: Final = frozenset(
    f"DLOG_{name}"
    for name in (
        "BOOTSTRAP",
        "CRASH_CASES",
        "EXAMPLES",
        "FUZZ_CASES",
        "MODEL_EXAMPLES",
        "MODEL_SHRINK",
        "PIPELINES",
        "SEED",
    )
)
SHORT_NAMES: Final[Mapping[str, str]] = {
    "data": "log.dir",
    "listen": "listeners",
    "metrics": "metrics.listener",
    "log.dirs": "log.dir",
}

#: Settings of the process that the broker in it does not know.
NODE_KEYS: Final[Mapping[str, ConfigKey]] = {
    key.name: key
    for key in (
        ConfigKey(
            "console.format",
            ConfigType.STRING,
            "auto",
            one_of("auto", "human", "json"),
            "How log lines are written to standard error: auto is human on a terminal, else json.",
        ),
        ConfigKey(
            "console.level",
            ConfigType.STRING,
            "info",
            one_of("debug", "info", "warning", "error"),
            "The least important log lines to write.",
        ),
    )
}


class SettingsError(Exception):
    """A setting that does not exist, or a value that it cannot have. The text says where it was found."""


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """All that `start_node` needs; valid. ``sources`` says of each key that was set where that was."""

    broker: BrokerConfig = field(default_factory=BrokerConfig)
    console_format: str = "auto"
    console_level: str = "info"
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def listeners(self) -> list[Address]:
        return parse_listeners("listeners", self.broker.listeners)

    @property
    def advertised_listeners(self) -> list[Address]:
        return parse_advertised(self.broker.advertised_listeners)

    @property
    def metrics_listener(self) -> Address | None:
        text = self.broker.metrics_listener
        return parse_address("metrics.listener", text) if text else None


@dataclass(slots=True)
class _Gathered:
    """Values as text, each with the place it came from; a later one replaces an earlier one."""

    values: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, text: str, source: str) -> None:
        name = SHORT_NAMES.get(name, name)
        key = NODE_KEYS.get(name) or BROKER_KEYS.get(name)
        if key is None:
            raise SettingsError(f"{source}: there is no setting {name!r}{nearest(name, known_names())}")
        try:
            key.parse(text)
        except InvalidConfig as error:
            raise SettingsError(f"{source}: {error}") from None
        self.values[name] = text
        self.sources[name] = source


def load_settings(
    flags: Iterable[tuple[str, str]] = (),
    *,
    file: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
    directory: Path | str = ".",
) -> NodeSettings:
    """Gather the settings. ``flags`` are (name, value) pairs; without ``file`` there may be a `dlog.toml`."""
    environment = environment or {}
    gathered = _Gathered()
    if file is None:
        file = environment.get("DLOG_CONFIG")
    path = Path(directory) / (DEFAULT_FILE if file is None else file)
    if file is not None or path.exists():
        for name, text in read_file(path).items():
            gathered.add(name, text, str(path))
    for name, text in sorted(environment.items()):
        if name.startswith(ENVIRONMENT_PREFIX) and name not in _NOT_SETTINGS and name != "DLOG_CONFIG":
            gathered.add(environment_key(name), text, f"environment, {name}")
    for name, text in flags:
        gathered.add(name, text, "command line")
    return _checked(gathered)


def settings_of(values: Mapping[str, str]) -> NodeSettings:
    """Settings of a node that a program starts: what is given here and nothing else."""
    return load_settings(values.items())


def _checked(gathered: _Gathered) -> NodeSettings:
    node = {name: gathered.values.pop(name, str(key.default)) for name, key in NODE_KEYS.items()}
    try:
        broker = BrokerConfig.from_kafka(gathered.values)
        settings = NodeSettings(broker, node["console.format"], node["console.level"], gathered.sources)
        names = {address.name for address in settings.listeners}
        for address in settings.advertised_listeners:
            if address.name not in names:
                raise InvalidConfig(
                    "advertised.listeners", str(address), f"advertised.listeners: no listener {address.name}"
                )
        _ = settings.metrics_listener
    except InvalidConfig as error:
        source = gathered.sources.get(error.name)
        raise SettingsError(f"{source}: {error}" if source else str(error)) from None
    return settings


def known_names() -> list[str]:
    return [*BROKER_KEYS, *NODE_KEYS, *SHORT_NAMES]


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint to append to an error: the name that was probably meant."""
    import difflib  # noqa: PLC0415  (nobody waits for an error)

    close = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def environment_name(name: str) -> str:
    """The variable of a setting."""
    return ENVIRONMENT_PREFIX + name.upper().replace(".", "_")


def environment_key(variable: str) -> str:
    """The setting of a variable."""
    by_variable = {environment_name(name): name for name in known_names()}
    name = by_variable.get(variable)
    if name is None:
        raise SettingsError(f"environment: {variable} is no setting{nearest(variable, by_variable)}")
    return name


def read_file(path: Path) -> dict[str, str]:
    """The settings in a TOML file, as text by name."""
    import tomllib  # noqa: PLC0415  (most nodes have no file)

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"{path} is not TOML: {error} (where one name is the beginning of another, as log.flush of "
            'log.flush.interval.ms, write them in quotes: "log.flush" = "ack")'
        ) from None
    found: dict[str, str] = {}
    _flatten(path, "", content, found)
    return found


def _flatten(path: Path, prefix: str, table: Mapping[str, Any], found: dict[str, str]) -> None:
    for name, value in table.items():
        whole = f"{prefix}{name}"
        if isinstance(value, dict):
            _flatten(path, f"{whole}.", value, found)
        elif isinstance(value, list):
            found[whole] = ",".join(_text(path, whole, each) for each in value)
        else:
            found[whole] = _text(path, whole, value)


def _text(path: Path, name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise SettingsError(f"{path}: {name} = {value!r} is neither text, number, true, false nor a list of them")
