"""What the API tables declare, held against the message definitions that kafka-python ships.

Bytes cannot show everything: whether a field is ignorable and what its default is matter only where a
version lacks the field, so the differential tests against kio never meet them.
"""

import dataclasses
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from distributedlog.wire.apis import APIS
from distributedlog.wire.layout import Array, Blob, Scalar, Struct, Text, layout_of

# Brokers speak these among themselves, or only newer clients do; kafka-python has no definition of them.
UNKNOWN_TO_KAFKA_PYTHON = {
    "vote",
    "begin_quorum_epoch",
    "end_quorum_epoch",
    "alter_partition",
    "fetch_snapshot",
    "broker_registration",
    "broker_heartbeat",
    "unregister_broker",
    "allocate_producer_ids",
    "consumer_group_heartbeat",
    "consumer_group_describe",
    "get_telemetry_subscriptions",
    "push_telemetry",
}
# Found without importing kafka.protocol, whose import warns of its own use of importlib.resources.
(KAFKA_PYTHON,) = find_spec("kafka").submodule_search_locations
DEFINITIONS = Path(KAFKA_PYTHON, "protocol", "schemas", "resources")
ZEROS = {"string": "", "bytes": b"", "bool": False, "uuid": bytes(16), "float64": 0.0, "records": None}


def read_definition(api, direction):
    """The definition as a dictionary, or None where kafka-python has none."""
    definition = DEFINITIONS / f"{api.message_class(direction).__name__}.json"
    if not definition.is_file():
        return None
    return json.loads(re.sub(r"(?m)^\s*//.*$|\s//[^\"\n]*$", "", definition.read_text()))


def includes(text, version):
    if text in (None, "none"):
        return False
    first, plus, _ = text.partition("+")
    if plus:
        return version >= int(first)
    first, _, last = text.partition("-")
    return int(first) <= version <= int(last or first)


def default_of(definition):
    """Kafka's default as a plain value; the string "null" of a definition is None."""
    written, wire_type = definition.get("default"), definition["type"]
    if written == "null":
        return None
    if wire_type.startswith("[]"):
        return []
    if written is None:
        return ZEROS.get(wire_type, 0)
    if wire_type == "bool":
        return str(written).lower() == "true"
    return written if wire_type == "string" else int(str(written), 0)


def type_name(wire_type):
    """The type in the words of a definition; a struct is only "struct"."""
    match wire_type:
        case Scalar(name):
            return {"float": "float64"}.get(name, name)
        case Text():
            return "string"
        case Blob(is_records):
            return "records" if is_records else "bytes"
        case Array(element):
            return "[]" + type_name(element)
        case Struct():
            return "struct"


def defined_type_name(definition):
    return re.sub(r"[A-Z]\w*", "struct", definition["type"])


def element_layout(wire_type):
    while isinstance(wire_type, Array):
        wire_type = wire_type.element
    return wire_type.layout if isinstance(wire_type, Struct) else None


def bare(name):
    """A name without case and underscores, in which both spellings meet."""
    return name.replace("_", "").lower()


def disagreements(layout, definitions, common_structs, served, path):
    """Every difference between a struct's layout in one version and its definition."""
    version = layout.version
    defined = [
        field for field in definitions if any(includes(field["versions"], number) for number in served)
    ]
    tags = {field.name: tag for tag, field in layout.tagged}
    ours = {field.name: field for field in (*layout.present, *(f for _, f in layout.tagged), *layout.absent)}
    declared = [field.name for field in dataclasses.fields(layout.struct)]
    if list(map(bare, declared)) != [bare(field["name"]) for field in defined]:
        yield f"{path}: fields {declared} against {[field['name'] for field in defined]}"
        return
    for name, definition in zip(declared, defined, strict=True):
        field, where = ours[name], f"{path}.{name} in version {version}"
        if type_name(field.type) != defined_type_name(definition):
            yield f"{where}: type {type_name(field.type)} against {definition['type']}"
        default = field.default if field.default_factory is None else field.default_factory()
        if not dataclasses.is_dataclass(default) and default != default_of(definition):
            yield f"{where}: default {default!r} against {default_of(definition)!r}"
        is_defined = includes(definition["versions"], version)
        if (field in layout.absent) == is_defined:
            yield f"{where}: should be {'present' if is_defined else 'absent'}"
        elif not is_defined:
            if field.ignorable != definition.get("ignorable", False):
                yield f"{where}: ignorable {field.ignorable}"
        else:
            if field.nullable != includes(definition.get("nullableVersions"), version):
                yield f"{where}: nullable {field.nullable}"
            is_tagged = includes(definition.get("taggedVersions"), version)
            if tags.get(name) != (definition["tag"] if is_tagged else None):
                yield f"{where}: tag {tags.get(name)}"
            if (inner := element_layout(field.type)) is not None:
                struct = definition["type"].removeprefix("[]")
                inner_definitions = definition.get("fields") or common_structs[struct]
                inner_served = [number for number in served if includes(definition["versions"], number)]
                yield from disagreements(
                    inner, inner_definitions, common_structs, inner_served, f"{path}.{name}"
                )


def test_only_the_named_apis_are_unknown_to_kafka_python():
    unknown = {api.name for api in APIS.values() if read_definition(api, "Request") is None}
    assert unknown == UNKNOWN_TO_KAFKA_PYTHON


@pytest.mark.parametrize("direction", ["Request", "Response"])
@pytest.mark.parametrize(
    "api", [api for api in APIS.values() if api.name not in UNKNOWN_TO_KAFKA_PYTHON], ids=lambda api: api.name
)
def test_declares_what_kafka_defines(api, direction):
    definition = read_definition(api, direction)
    common_structs = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", [])}
    assert definition["apiKey"] == api.key
    found = []
    for version in api.versions:
        is_flexible = api.is_flexible(version)
        assert includes(definition["validVersions"], version)
        assert is_flexible == includes(definition["flexibleVersions"], version)
        layout = layout_of(api.message_class(direction), version, is_flexible)
        name = layout.struct.__name__
        found += disagreements(layout, definition["fields"], common_structs, api.versions, name)
    assert not found, "\n".join(found)
