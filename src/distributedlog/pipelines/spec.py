"""[pure] A specification: from nested tables, as TOML or Python gives them, to a checked `PipelineSpec`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from distributedlog.pipelines.catalog import STEPS, Step
from distributedlog.pipelines.durations import duration_ms
from distributedlog.pipelines.errors import SpecError
from distributedlog.pipelines.spec_keys import nearest, parse_section, settings, shown
from distributedlog.pipelines.spec_sections import RUN_KEYS, SINK_KEYS, SOURCE_KEYS, TOP_KEYS

AVAILABLE_NOW: Final = "available-now"
BOOTSTRAP_DEFAULT: Final = "127.0.0.1:9092"
NAME_FORM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
SECTIONS: Final = ("source", "sink", "run", "spark")
#: These hold what they make in their own store, or say themselves where they write.
_NEEDS_NO_SINK: Final = frozenset({"materialize", "archive"})
_NEEDS_NO_SOURCE: Final = frozenset({"replay"})


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step with its arguments; ``source`` is the other side of a join."""

    step: Step
    arguments: Mapping[str, Any]
    source: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """Valid in itself: whether topics, columns and functions exist is found out when it is built."""

    name: str
    bootstrap: str
    steps: tuple[PlannedStep, ...]
    source: Mapping[str, Any]
    sink: Mapping[str, Any]
    run: Mapping[str, Any]
    spark: Mapping[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(planned.step.name for planned in self.steps)

    @property
    def emits_changes(self) -> bool:
        """Whether a result may be written again when it changes: Spark's output mode ``update``."""
        last = self.steps[-1]
        if last.step.name == "aggregate":
            return bool(last.arguments["emit"] == "update")
        return last.step.name in {"materialize", "merge"}

    @property
    def trigger_seconds(self) -> float | None:
        """How often; None where what is there now is all there is to do."""
        trigger = self.run["trigger"]
        return None if trigger == AVAILABLE_NOW else duration_ms(trigger) / 1000


def parse_spec(given: object, *, bootstrap: str | None = None) -> PipelineSpec:
    """`bootstrap` is the cluster where the specification names none; SpecError says what is wrong."""
    if not isinstance(given, Mapping):
        raise SpecError(f"a specification must be a table, not {shown(given)}")
    rest = dict(given)
    kinds = _kinds(rest.get("pipeline"))
    sections = {name: rest.pop(name, {}) for name in (*SECTIONS, *kinds)}
    _refuse_foreign_sections(rest, kinds)
    top = parse_section("the specification", rest, TOP_KEYS)
    if not NAME_FORM.fullmatch(top["name"]):
        raise SpecError(f"name: {top['name']!r} may have letters, digits, '.', '_' and '-' only")
    spec = PipelineSpec(
        name=top["name"],
        bootstrap=top["bootstrap"] or bootstrap or BOOTSTRAP_DEFAULT,
        steps=tuple(_step(kind, sections[kind]) for kind in kinds),
        source=parse_section("[source]", sections["source"], SOURCE_KEYS),
        sink=parse_section("[sink]", sections["sink"], SINK_KEYS),
        run=parse_section("[run]", sections["run"], RUN_KEYS),
        spark=_spark_settings(sections["spark"]),
    )
    _check_together(spec, given)
    return spec


def _kinds(given: object) -> list[str]:
    if given is None:
        raise SpecError(f"the specification needs the key 'pipeline': one of {', '.join(STEPS)}")
    kinds = [given] if isinstance(given, str) else given
    if not isinstance(kinds, list | tuple) or not kinds:
        raise SpecError(f"pipeline: must be a name or a list of them, not {shown(given)}")
    for kind in kinds:
        if kind not in STEPS:
            raise SpecError(f"pipeline: there is no pipeline {shown(kind)}{nearest(str(kind), STEPS)}")
    if len(set(kinds)) < len(kinds):
        raise SpecError("pipeline: each may stand in the list only once")
    return list(kinds)


def _refuse_foreign_sections(rest: Mapping[str, Any], kinds: list[str]) -> None:
    known = [*(key.name for key in TOP_KEYS), *SECTIONS, *kinds]
    for name, value in rest.items():
        if name in known:
            continue
        if name in STEPS:
            raise SpecError(f"[{name}] is there, but pipeline = {kinds} does not name it")
        what = f"section [{name}]" if isinstance(value, Mapping) else f"key {name!r}"
        raise SpecError(f"the specification has no {what}{nearest(str(name), known)}")


def _step(kind: str, given: object) -> PlannedStep:
    step = STEPS[kind]
    source = None
    if kind == "join" and isinstance(given, Mapping):
        given = dict(given)
        if "source" not in given:
            raise SpecError("[join] needs the section [join.source]: where the other side comes from")
        source = parse_section("[join.source]", given.pop("source"), SOURCE_KEYS)
        _check_source("[join.source]", source)
    arguments = parse_section(f"[{kind}]", given, step.keys)
    _STEP_CHECKS.get(kind, lambda _: None)(arguments)
    return PlannedStep(step, arguments, source)


def _spark_settings(given: object) -> dict[str, str]:
    try:
        return settings(given)
    except ValueError as error:
        raise SpecError(f"[spark] {error}") from None


# -- what must fit together -------------------------------------------------------------------------


def _check_aggregate(arguments: Mapping[str, Any]) -> None:
    if arguments["gap"] is not None:
        if arguments["window"] is not None or arguments["slide"] is not None:
            raise SpecError("[aggregate] takes window (with slide) or gap, not both")
        if arguments["emit"] == "update":
            raise SpecError("[aggregate] emit: a session is known when it is over; write emit = 'final'")
    elif arguments["window"] is None:
        raise SpecError("[aggregate] needs window, or gap for sessions")
    elif arguments["slide"] is not None and duration_ms(arguments["slide"]) > duration_ms(
        arguments["window"]
    ):
        raise SpecError("[aggregate] slide is longer than window: events between them would be lost")


def _check_merge(arguments: Mapping[str, Any]) -> None:
    if (arguments["keep"] == "function") != (arguments["function"] is not None):
        raise SpecError("[merge] keep = 'function' and the key 'function' go together")


def _check_validate(arguments: Mapping[str, Any]) -> None:
    if arguments["schema"] is None and (arguments["required"] or arguments["rules"]):
        raise SpecError("[validate] required and rules speak of fields: schema must say which there are")
    if arguments["topic"] == arguments["dead_letter_topic"]:
        raise SpecError("[validate] dead_letter_topic is the same as topic")


_STEP_CHECKS: Final = {
    "aggregate": _check_aggregate,
    "merge": _check_merge,
    "validate": _check_validate,
}


def _check_source(place: str, source: Mapping[str, Any]) -> None:
    if source["format"] == "distributedlog":
        chosen = [name for name in ("subscribe", "subscribePattern", "assign") if source[name]]
        if len(chosen) != 1:
            what = f"only one of {' and '.join(chosen)}" if chosen else "subscribe: the topic to read"
            raise SpecError(f"{place} needs {what}")
    if source["subject"] and not source["registry"]:
        raise SpecError(f"{place} subject is one of a registry: say which")
    if source["value"] in {"json", "avro", "protobuf"} and not (source["schema"] or source["subject"]):
        raise SpecError(f"{place} value = {source['value']!r} needs schema (or registry and subject)")
    if source["value"] == "protobuf" and not source["message"]:
        raise SpecError(f"{place} value = 'protobuf' needs message: the name of the message in the schema")


def _check_together(spec: PipelineSpec, given: Mapping[str, Any]) -> None:
    kinds = spec.kinds
    if not _NEEDS_NO_SOURCE & set(kinds):
        _check_source("[source]", spec.source)
    elif "source" in given:
        raise SpecError("[source]: replay reads what [replay] path names")
    for kind in ("replay", "archive", "validate"):
        alone_at = 0 if kind == "replay" else len(kinds) - 1
        if kind in kinds and kinds.index(kind) != alone_at:
            raise SpecError(f"pipeline: {kind} can only be the {'first' if alone_at == 0 else 'last'}")
    if "materialize" in kinds and len(kinds) > 1:
        raise SpecError("pipeline: materialize stands alone; write what comes before it to a topic")
    for before, kind in pairwise(kinds):
        if before in {"aggregate", "merge"} and kind not in {"archive", "validate"}:
            raise SpecError(
                f"pipeline: {before} gives results that {kind} cannot take; write them to a topic"
            )
    sink = spec.sink
    if "validate" in kinds and sink["topic"]:
        raise SpecError("[sink] topic: [validate] says itself where its records go")
    writes_itself = _NEEDS_NO_SINK & set(kinds) or "validate" in kinds
    if sink["format"] == "distributedlog" and not sink["topic"] and not writes_itself:
        raise SpecError("[sink] needs topic: where the results go")
    if "archive" in kinds and "sink" in given:
        raise SpecError("[sink]: archive writes to what [archive] path names")
    try:
        _ = spec.trigger_seconds
    except ValueError as error:
        raise SpecError(f"[run] trigger: {error}, or 'available-now'") from None
