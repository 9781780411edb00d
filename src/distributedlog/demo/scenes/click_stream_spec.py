"""The two specifications of the demo: files that stay with ``--keep``, to be read, changed and run again."""

from pathlib import Path
from typing import Final

CLICKS: Final = "clicks"
USERS: Final = "users"
COUNTS: Final = "click-counts"

COUNTING: Final = """\
# Clicks, each once, with their user's country, counted per minute. Try it:
#   dlog pipeline run {path}
name = "count-clicks"
pipeline = ["deduplicate", "join", "aggregate"]
bootstrap = "{bootstrap}"

[source]
subscribe = "{clicks}"
value = "json"
schema = "id STRING, user STRING, page STRING, cents INT, at TIMESTAMP"

[deduplicate]
by = "id"
time = "at"
within = "2 minutes"

[join]
to = "table"
how = "left"
on = {{ user = "id" }}
[join.source]
subscribe = "{users}"
value = "json"
schema = "id STRING, country STRING"

[aggregate]
by = "country"
time = "at"
window = "1 minute"
emit = "final"
values = {{ clicks = "count(*)", cents = "sum(cents)" }}

[sink]
topic = "{counts}"
exactlyOnce = true
"""
ARCHIVING: Final = """\
# What was counted, as Parquet by date and hour.
name = "archive-counts"
pipeline = "archive"
bootstrap = "{bootstrap}"

[source]
subscribe = "{counts}"
value = "json"
schema = "country STRING, window_start TIMESTAMP, window_end TIMESTAMP, clicks LONG, cents LONG"

[archive]
path = "{lake}"
time = "window_start"

[run]
trigger = "available-now"
"""


def write_specs(directory: Path, bootstrap: str, lake: Path) -> tuple[Path, Path]:
    """The one that counts and the one that archives."""
    paths = directory / "count-clicks.toml", directory / "archive-counts.toml"
    for path, text in zip(paths, (COUNTING, ARCHIVING), strict=True):
        path.write_text(
            text.format(path=path, bootstrap=bootstrap, lake=lake, clicks=CLICKS, users=USERS, counts=COUNTS)
        )
    return paths
