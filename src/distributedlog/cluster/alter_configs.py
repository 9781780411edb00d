"""AlterConfigs and IncrementalAlterConfigs as decisions [pure].

What a key is and what it may have, the broker knows: it comes as `ConfigRules`. A resource's changes are made
together or not at all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from distributedlog.cluster.image import ClusterImage, ConfigResource
from distributedlog.cluster.refused import Refused
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.values.metadata_records import ConfigRecord, MetadataRecord

SET, DELETE, APPEND, SUBTRACT = range(4)


class ConfigChange(NamedTuple):
    """One entry of a request. ``operation`` is one of SET, DELETE, APPEND, SUBTRACT."""

    name: str
    operation: int
    value: str | None


class ResourceChanges(NamedTuple):
    """What a request wants of one resource. ``replaces_all``: what it does not name is deleted."""

    resource: ConfigResource
    changes: Sequence[ConfigChange]
    replaces_all: bool = False


class ResourceResult(NamedTuple):
    resource: ConfigResource
    error_code: int = 0
    error_message: str | None = None


class ConfigRules(Protocol):
    """What the broker knows of keys. Both raise `Refused`."""

    def list_default(self, resource: ConfigResource, name: str) -> tuple[str, ...] | None:
        """The value of a list key that was not set on the resource; None when the key is no list."""

    def check(
        self,
        image: ClusterImage,
        resource: ConfigResource,
        changed: Sequence[str],
        configs: Mapping[str, str],
    ) -> None:
        """Whether the resource exists, the changed keys may be changed, and all its configs go together."""


def alter_configs(
    image: ClusterImage, wanted: Sequence[ResourceChanges], rules: ConfigRules, *, validate_only: bool
) -> tuple[list[ResourceResult], list[MetadataRecord]]:
    """One result per resource, in the order of the request."""
    counts = Counter(each.resource for each in wanted)
    results: dict[ConfigResource, ResourceResult] = {}
    records: list[MetadataRecord] = []
    for each in wanted:
        resource = each.resource
        try:
            if counts[resource] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "the request names this resource more than once")
            changed = _changed_records(image, each, rules)
        except Refused as refusal:
            results[resource] = ResourceResult(resource, refusal.code, refusal.message)
            continue
        if not validate_only:
            records.extend(changed)
        results[resource] = ResourceResult(resource)
    return list(results.values()), records


def _changed_records(image: ClusterImage, wanted: ResourceChanges, rules: ConfigRules) -> list[ConfigRecord]:
    resource = wanted.resource
    old = image.configs_of(*resource)
    new = {} if wanted.replaces_all else dict(old)
    names = Counter(change.name for change in wanted.changes)
    for change in wanted.changes:
        if names[change.name] > 1:
            raise Refused(ErrorCode.INVALID_REQUEST, f"{change.name[:200]} is named more than once")
        value = _new_value(resource, change, old, rules)
        if value is None:
            new.pop(change.name, None)
        else:
            new[change.name] = value
    rules.check(image, resource, [change.name for change in wanted.changes], new)
    records = [ConfigRecord(*resource, name, value) for name, value in new.items() if old.get(name) != value]
    records += [ConfigRecord(*resource, name, None) for name in old if name not in new]
    return records


def _new_value(
    resource: ConfigResource, change: ConfigChange, old: Mapping[str, str], rules: ConfigRules
) -> str | None:
    """What the key has after the change; None when it is not set any more."""
    if change.operation == DELETE:
        return None
    if change.operation not in (SET, APPEND, SUBTRACT):
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"there is no operation {change.operation} on a configuration"
        )
    if change.value is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{change.name[:200]} has no value")
    if change.operation == SET:
        return change.value
    items = rules.list_default(resource, change.name)
    if items is None:
        verb = "appended to" if change.operation == APPEND else "taken from"
        raise Refused(ErrorCode.INVALID_CONFIG, f"nothing can be {verb} {change.name}: it is no list")
    if change.name in old:
        items = _items(old[change.name])
    given = _items(change.value)
    if change.operation == APPEND:
        items = (*items, *(item for item in dict.fromkeys(given) if item not in items))
    else:
        items = tuple(item for item in items if item not in given)
    return ",".join(items)


def _items(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text.strip() else ()
