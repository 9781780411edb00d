"""Whose directory this is: `partition.metadata` of a partition, `meta.properties` of a data directory.

Both are Kafka's. The first ties a partition's directory to one topic id, so that the records of a deleted
topic are never taken for those of a new one of the same name. The second ties a data directory to one node of
one cluster. Ids are 16 bytes, written as URL-safe base64 without padding.
"""

import base64
import os
import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from distributedlog.log.errors import CorruptLog, InconsistentTopicId, UnsupportedDirectoryVersion
from distributedlog.log.files import Files

PARTITION_METADATA: Final = "partition.metadata"
META_PROPERTIES: Final = "meta.properties"

_PARTITION_VERSION: Final = "0"
_DIRECTORY_VERSION: Final = "1"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_INT32: Final = re.compile(r"[0-9]{1,10}")
_NODE_ID_MAX: Final = 2**31 - 1
_PROPERTY: Final = re.compile(r"((?:[^\\=:\s]|\\.)+)\s*[=:\s]\s*(.*)")
_ESCAPED: Final = re.compile(r"\\(.)")


def format_id(value: uuid.UUID) -> str:
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_id(text: str) -> uuid.UUID:
    """ValueError unless the text is an id exactly as `format_id` writes it."""
    if _ID.fullmatch(text):
        value = uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
        if format_id(value) == text:
            return value
    raise ValueError(f"{text[:60]!r} is no id of 22 characters of URL-safe base64")


class PartitionMetadata:
    """The topic id of one partition's directory."""

    __slots__ = ("_files", "path")

    def __init__(self, files: Files, path: Path | str) -> None:
        self._files = files
        self.path = path

    def write(self, topic_id: uuid.UUID) -> None:
        text = f"version: {_PARTITION_VERSION}\ntopic_id: {format_id(topic_id)}"
        self._files.write_atomically(self.path, text.encode())

    def read(self) -> uuid.UUID | None:
        """None when there is no such file; CorruptLog or UnsupportedDirectoryVersion when it is no good."""
        path = os.fspath(self.path)
        try:
            lines = _text(path, self._files.read_bytes(path)).splitlines()
        except FileNotFoundError:
            return None
        version = _value(path, lines, 0, "version")
        if version != _PARTITION_VERSION:
            raise UnsupportedDirectoryVersion(path, version, _PARTITION_VERSION)
        text = _value(path, lines, 1, "topic_id")
        try:
            return parse_id(text)
        except ValueError as error:
            raise CorruptLog(path, len(lines[0]) + 1, f"topic_id: {error}") from error

    def claim(self, topic_id: uuid.UUID) -> None:
        """Make the directory this topic's, or find that it is; InconsistentTopicId when it is another's."""
        found = self.read()
        if found is None:
            self.write(topic_id)
        elif found != topic_id:
            raise InconsistentTopicId(os.fspath(self.path), format_id(found), format_id(topic_id))


def _value(path: str, lines: list[str], number: int, name: str) -> str:
    line = lines[number] if number < len(lines) else ""
    found, colon, value = line.partition(":")
    if not colon or found.strip() != name:
        position = sum(len(before) + 1 for before in lines[:number])
        raise CorruptLog(path, position, f"line {number + 1}, {line[:60]!r}: expected {name!r}")
    return value.strip()


@dataclass(frozen=True, slots=True)
class MetaProperties:
    cluster_id: str
    node_id: int
    directory_id: uuid.UUID | None = None


class MetaPropertiesFile:
    """The properties of one data directory."""

    __slots__ = ("_files", "path")

    def __init__(self, files: Files, path: Path | str) -> None:
        self._files = files
        self.path = path

    def write(self, properties: MetaProperties) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]+", properties.cluster_id):
            raise ValueError(
                f"cluster id {properties.cluster_id!r} holds more than letters, digits and '._-'"
            )
        if not 0 <= properties.node_id <= _NODE_ID_MAX:
            raise ValueError(f"node id {properties.node_id} is not a number from 0 to {_NODE_ID_MAX}")
        lines = [f"cluster.id={properties.cluster_id}", f"node.id={properties.node_id}"]
        if properties.directory_id is not None:
            lines.append(f"directory.id={format_id(properties.directory_id)}")
        lines.append(f"version={_DIRECTORY_VERSION}")
        self._files.write_atomically(self.path, "".join(f"{line}\n" for line in lines).encode())

    def read(self) -> MetaProperties | None:
        """None when there is no such file; CorruptLog or UnsupportedDirectoryVersion when it is no good."""
        path = os.fspath(self.path)
        try:
            text = _text(path, self._files.read_bytes(path))
        except FileNotFoundError:
            return None
        found = _properties(path, text)
        # Version 0 is that of ZooKeeper's days and wrote no version before it was one.
        version = found.get("version", "0")
        if version != _DIRECTORY_VERSION:
            raise UnsupportedDirectoryVersion(path, version, _DIRECTORY_VERSION)
        for name in ("cluster.id", "node.id"):
            if not found.get(name):
                raise CorruptLog(path, 0, f"there is no {name}")
        node_id = found["node.id"]
        if not _INT32.fullmatch(node_id) or int(node_id) > _NODE_ID_MAX:
            raise CorruptLog(path, 0, f"node.id {node_id[:60]!r} is not a number from 0 to {_NODE_ID_MAX}")
        directory_id = None
        if "directory.id" in found:
            try:
                directory_id = parse_id(found["directory.id"])
            except ValueError as error:
                raise CorruptLog(path, 0, f"directory.id: {error}") from error
        return MetaProperties(found["cluster.id"], int(node_id), directory_id)


def _properties(path: str, text: str) -> dict[str, str]:
    """The part of Java's properties format that Kafka's tools write here: comments, `name=value` and
    characters escaped by a backslash."""
    found: dict[str, str] = {}
    position = 0
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            match = _PROPERTY.fullmatch(stripped)
            if match is None:
                raise CorruptLog(path, position, f"{stripped[:60]!r} is not name=value")
            name, value = (_ESCAPED.sub(r"\1", part) for part in match.groups())
            found[name] = value
        position += len(line.encode()) + 1
    return found


def _text(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptLog(path, error.start, "not UTF-8 text") from error
