"""What the names in a log's directory say, found in one pass: a broker opens thousands of directories."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from distributedlog.log.producer_snapshot import SNAPSHOT_SUFFIX
from distributedlog.log.segment_files import (
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from distributedlog.log.swap import CLEANED_SUFFIX, INTENT_SUFFIX

WASTE_SUFFIXES: Final = (DELETED_SUFFIX, CLEANED_SUFFIX, ".tmp")
_BASE_OFFSET_DIGITS: Final = 20


@dataclass(slots=True)
class DirectoryListing:
    """The files of one log by what they are; offsets are in rising order."""

    base_offsets: list[int] = field(default_factory=list)
    snapshot_offsets: list[int] = field(default_factory=list)
    #: Names of indexes of all kinds, and the base offsets they are for.
    indexes: list[tuple[str, int]] = field(default_factory=list)
    #: Base offsets of the segments that have a transaction index.
    transaction_indexes: list[int] = field(default_factory=list)
    #: Whether a swap was interrupted, or something lies there that only has to be removed.
    has_leftovers: bool = False


def list_directory(directory: Path) -> DirectoryListing:
    """Look once."""
    return classify(os.listdir(directory))


def classify(names: Iterable[str]) -> DirectoryListing:
    """What each name stands for; names that no log writes are passed over."""
    found = DirectoryListing()
    for name in names:
        stem, dot, kind = name.partition(".")
        suffix = dot + kind
        if not stem.isdigit():
            found.has_leftovers |= name.endswith(WASTE_SUFFIXES)
        elif suffix == LOG_SUFFIX:
            if len(stem) == _BASE_OFFSET_DIGITS:
                found.base_offsets.append(int(stem))
        elif suffix in INDEX_SUFFIXES:
            found.indexes.append((name, int(stem)))
            if suffix == TRANSACTION_INDEX_SUFFIX:
                found.transaction_indexes.append(int(stem))
        elif suffix == SNAPSHOT_SUFFIX:
            found.snapshot_offsets.append(int(stem))
        elif suffix == INTENT_SUFFIX or name.endswith(WASTE_SUFFIXES):
            found.has_leftovers = True
    found.base_offsets.sort()
    found.snapshot_offsets.sort()
    found.transaction_indexes.sort()
    return found
