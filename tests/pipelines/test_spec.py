"""Specifications: what they become, and errors that name the key and the nearest there is."""

import copy

import pytest

from distributedlog.pipelines.catalog import STEPS
from distributedlog.pipelines.errors import SpecError
from distributedlog.pipelines.spec import parse_spec

AGGREGATE = {
    "name": "page-counts",
    "pipeline": "aggregate",
    "source": {"subscribe": "clicks", "value": "json", "schema": "page STRING, at TIMESTAMP"},
    "aggregate": {"by": ["page"], "time": "at", "window": "1 minute"},
    "sink": {"topic": "page-counts"},
}


def changed(**changes):
    """The specification with keys of sections replaced: ``sink__topic=…``; ... takes one away."""
    spec = copy.deepcopy(AGGREGATE)
    for path, value in changes.items():
        *sections, name = path.split("__")
        table = spec
        for section in sections:
            table = table.setdefault(section, {})
        if value is ...:
            table.pop(name)
        else:
            table[name] = value
    return spec


def test_defaults_are_filled_in():
    spec = parse_spec(AGGREGATE, bootstrap="broker:9092")
    assert (spec.name, spec.bootstrap, spec.kinds) == ("page-counts", "broker:9092", ("aggregate",))
    assert spec.steps[0].arguments["watermark"] == "10 seconds"
    assert spec.steps[0].arguments["values"] == {"count": "count(*)"}
    assert spec.sink["exactlyOnce"] is True
    assert spec.emits_changes
    assert spec.trigger_seconds == 0


def test_the_files_own_broker_comes_first():
    assert parse_spec(changed(bootstrap="mine:1"), bootstrap="other:1").bootstrap == "mine:1"


def test_several_steps_one_behind_the_other():
    spec = parse_spec(changed(pipeline=["deduplicate", "aggregate"], deduplicate__by="id"))
    assert spec.kinds == ("deduplicate", "aggregate")
    assert spec.steps[0].arguments["by"] == ["id"]


def test_options_of_the_connector_and_of_the_client_are_texts():
    spec = parse_spec(
        changed(
            source__maxOffsetsPerTrigger=1000,
            source__includeHeaders=True,
            source__kafka={"security": {"protocol": "SSL"}, "request.timeout.ms": 500},
        )
    )
    assert spec.source["maxOffsetsPerTrigger"] == "1000"
    assert spec.source["includeHeaders"] == "true"
    assert spec.source["kafka"] == {"security.protocol": "SSL", "request.timeout.ms": "500"}


@pytest.mark.parametrize("kind", STEPS)
def test_every_key_of_every_pipeline_is_an_argument_of_its_function(kind):
    """What a specification says and a call from Python says is the same."""
    import inspect
    from importlib import import_module

    from distributedlog.pipelines.building import _FOR_WRITERS

    function = getattr(import_module(f"distributedlog.pipelines.{kind}"), kind)
    arguments = set(inspect.signature(function).parameters)
    keys = {key.name for key in STEPS[kind].keys} - _FOR_WRITERS.get(kind, set())
    assert keys <= arguments


WRONG = [
    (changed(agregate={}), "the specification has no section [agregate]; did you mean 'aggregate'?"),
    (changed(nam="x"), "the specification has no key 'nam'; did you mean 'name'?"),
    (changed(name=...), "the specification needs the key 'name'"),
    (changed(name="a/b"), "name: 'a/b' may have letters, digits"),
    (changed(pipeline="agregate"), "pipeline: there is no pipeline 'agregate'; did you mean 'aggregate'?"),
    (changed(pipeline=...), "the specification needs the key 'pipeline': one of aggregate"),
    (changed(pipeline=["aggregate", "aggregate"]), "each may stand in the list only once"),
    (changed(merge={}), "[merge] is there, but pipeline = ['aggregate'] does not name it"),
    (changed(aggregate__windw="1m"), "[aggregate] has no key 'windw'; did you mean 'window'?"),
    (
        changed(aggregate__window="1 fortnight"),
        "[aggregate] window: '1 fortnight' is no duration; write 500ms",
    ),
    (changed(aggregate__window=...), "[aggregate] needs window, or gap for sessions"),
    (changed(aggregate__gap="5s"), "[aggregate] takes window (with slide) or gap, not both"),
    (changed(aggregate__window=..., aggregate__gap="5s"), "write emit = 'final'"),
    (changed(aggregate__slide="2m"), "[aggregate] slide is longer than window"),
    (changed(aggregate__emit="finl"), "[aggregate] emit: is 'finl'; did you mean 'final'?"),
    (changed(aggregate__by=7), "[aggregate] by: must be a list of names, not 7"),
    (changed(aggregate=[]), "[aggregate] must be a table, not []"),
    (
        changed(source__startingoffset="earliest"),
        "[source] has no key 'startingoffset'; did you mean 'startingOffsets'?",
    ),
    (changed(source__starting_offsets="earliest"), "did you mean 'startingOffsets'?"),
    (changed(source__subscribe=...), "[source] needs subscribe: the topic to read"),
    (changed(source__assign="{}"), "[source] needs only one of subscribe and assign"),
    (changed(source__schema=...), "[source] value = 'json' needs schema (or registry and subject)"),
    (changed(source__subject="x"), "[source] subject is one of a registry: say which"),
    (changed(source__value="protobuf"), "[source] value = 'protobuf' needs message"),
    (changed(source__value="xml"), "[source] value: is 'xml'; there are bytes, text, json, avro, protobuf"),
    (changed(sink__topic=...), "[sink] needs topic: where the results go"),
    (changed(sink__exactlyOnce="yes"), "[sink] exactlyOnce: must be true or false, not 'yes'"),
    (changed(run={"trigger": "sometimes"}), "[run] trigger: 'sometimes' is no duration"),
    (changed(run={"partitions": 0}), "[run] partitions: is 0; the least is 1"),
    (changed(spark={"a": [1]}), "[spark] a must be text, a number, true or false, not [1]"),
    (changed(pipeline=["aggregate", "deduplicate"], deduplicate={"by": "x"}), "write them to a topic"),
    (
        changed(pipeline=["deduplicate", "materialize"], aggregate=..., deduplicate={"by": "key"}),
        "pipeline: materialize stands alone; write what comes before it to a topic",
    ),
    (changed(pipeline=["join"], aggregate=...), "[join] needs the section [join.source]"),
    (
        changed(pipeline=["join"], aggregate=..., join={"on": {"a": "b"}, "source": {"subscrib": "t"}}),
        "[join.source] has no key 'subscrib'; did you mean 'subscribe'?",
    ),
    (changed(pipeline=["replay"], aggregate=..., replay={"path": "p"}), "[source]: replay reads what"),
    (changed(pipeline=["archive"], aggregate=..., archive={"path": "p"}), "[sink]: archive writes to what"),
    (
        changed(pipeline=["merge"], aggregate=..., merge={"keep": "function"}),
        "[merge] keep = 'function' and the key 'function' go together",
    ),
    (
        changed(pipeline=["process"], aggregate=..., process={"by": "x", "handler": "nothing"}),
        "[process] handler: is 'nothing'; write it as module:name or file.py:name",
    ),
    (
        changed(
            pipeline=["validate"],
            aggregate=...,
            sink=...,
            validate={"topic": "a", "dead_letter_topic": "a"},
        ),
        "[validate] dead_letter_topic is the same as topic",
    ),
    ("text", "a specification must be a table, not 'text'"),
]


@pytest.mark.parametrize(("given", "said"), WRONG, ids=[said[:40] for _, said in WRONG])
def test_what_is_wrong_is_said(given, said):
    with pytest.raises(SpecError) as raised:
        parse_spec(given)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
