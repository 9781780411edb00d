"""[pure] Where reading starts and ends, as the options say it: in the forms of Spark's own connector."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from distributedlog.client import TopicPartition
from distributedlog.spark.errors import InvalidSparkOption
from distributedlog.spark.options import GivenOptions

EARLIEST: Final = -2
LATEST: Final = -1

Kind = Literal["earliest", "latest", "offsets", "timestamps", "timestamp"]


@dataclass(frozen=True, slots=True)
class OffsetSpec:
    """`by_partition` holds offsets (with -2 and -1 for the ends) or timestamps in milliseconds."""

    kind: Kind
    by_partition: Mapping[TopicPartition, int] | None = None
    timestamp: int | None = None


def starting_spec(given: GivenOptions, default: Kind) -> OffsetSpec:
    """What was given last in this list wins: offsets, timestamps of partitions, one timestamp."""
    return _spec(given, "starting", default)


def ending_spec(given: GivenOptions) -> OffsetSpec:
    return _spec(given, "ending", "latest")


def is_given(given: GivenOptions, which: Literal["starting", "ending"]) -> str | None:
    """The first option that says where to start, or to end; None where none does."""
    names = (f"{which}Timestamp", f"{which}OffsetsByTimestamp", f"{which}Offsets")
    return next((name for name in names if given.text(name) is not None), None)


def _spec(given: GivenOptions, which: Literal["starting", "ending"], default: Kind) -> OffsetSpec:
    name = is_given(given, which)
    if name is None:
        return OffsetSpec(default)
    text = given.text(name) or ""
    if name.endswith("OffsetsByTimestamp"):
        return OffsetSpec("timestamps", partition_numbers(name, text, least=0))
    if name.endswith("Timestamp"):
        return OffsetSpec("timestamp", timestamp=given.number(name, None, least=0))
    if text.lower() in {"earliest", "latest"}:
        return OffsetSpec("earliest" if text.lower() == "earliest" else "latest")
    return OffsetSpec("offsets", partition_numbers(name, text, least=EARLIEST))


def partition_numbers(name: str, text: str, least: int) -> dict[TopicPartition, int]:
    """``{"orders": {"0": 23, "1": -2}}``"""
    example = f'{{"orders": {{"0": 23, "1": {max(least, 0) if least >= 0 else least}}}}}'
    found: dict[TopicPartition, int] = {}
    for topic, partitions in _object(name, text, example).items():
        if not isinstance(partitions, dict):
            raise InvalidSparkOption(f"option {name!r}: {topic!r} has no partitions; write {example}")
        for partition, number in partitions.items():
            if not _is_index(partition) or type(number) is not int or number < least:
                raise InvalidSparkOption(
                    f"option {name!r}: partition {partition!r} of {topic!r} has {number!r}; write {example}"
                )
            found[TopicPartition(topic, int(partition))] = number
    return found


def assigned_partitions(text: str) -> tuple[TopicPartition, ...]:
    """``{"orders": [0, 1]}``"""
    example = '{"orders": [0, 1]}'
    found = []
    for topic, partitions in _object("assign", text, example).items():
        if not isinstance(partitions, list) or not all(
            type(partition) is int and partition >= 0 for partition in partitions
        ):
            raise InvalidSparkOption(f"option 'assign': {topic!r} has no list of partitions; write {example}")
        found += [TopicPartition(topic, partition) for partition in partitions]
    if not found:
        raise InvalidSparkOption(f"option 'assign' names no partition; write {example}")
    return tuple(sorted(set(found)))


def _object(name: str, text: str, example: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InvalidSparkOption(f"option {name!r} is {text!r}, which is no JSON object; write {example}")
    return value


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit()
