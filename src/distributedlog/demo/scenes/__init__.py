"""The scenes, in the order in which they are played. A new one is a module here and a word in the list."""

from typing import Final

from distributedlog.demo.scenes import (
    append,
    arrow,
    broker,
    click_stream,
    compaction,
    durability,
    kill,
    look_up,
    read,
    verify,
)
from distributedlog.demo.stage import Scene

SCENES: Final[tuple[Scene, ...]] = (
    append,
    read,
    arrow,
    look_up,
    durability,
    kill,
    compaction,
    verify,
    broker,
    click_stream,
)
