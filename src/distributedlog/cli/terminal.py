"""What is printed for people: text that cannot steer the terminal, and tables that fit it."""

import base64
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

COLUMN_GAP: Final = 2
COLUMN_WIDTH_MIN: Final = 8
TABLE_WIDTH_MIN: Final = 40
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def shown(text: str) -> str:
    """Names come from outside: nothing in them may steer the terminal or fail to be printed."""
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode()


def shown_bytes(data: bytes | None) -> str:
    return "null" if data is None else shown(data.decode(errors="backslashreplace"))


def shown_time(timestamp_ms: int) -> str:
    """In UTC, as everything here; a timestamp that no calendar reaches stays a number."""
    if timestamp_ms < 0:
        return "none"
    try:
        moment = EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return str(timestamp_ms)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def shown_size(size: float) -> str:
    """``1.5 MB``; in steps of 1000, as disks and networks are sold."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def shown_id(topic_id: bytes) -> str:
    """A topic's id as Kafka's own tools and ``partition.metadata`` write it."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def counted(number: int, one: str) -> str:
    """``1 topic``, ``2 topics``."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"


def note(text: str) -> None:
    """Something to know that is no part of the output: on standard error, for people."""
    print(shown(text), file=sys.stderr)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns named with a trailing ``>`` are right-aligned; those in which nothing stands are left out.

    On a terminal the widest columns are cut until a row fits a line; in a pipe nothing is cut, so that
    what is searched for can be found.
    """
    cells = [["" if cell is None else shown(str(cell)) for cell in row] for row in rows]
    used = [place for place in range(len(columns)) if not rows or any(row[place] for row in cells)]
    titles = [columns[place].rstrip(">") for place in used]
    is_right = [columns[place].endswith(">") for place in used]
    lines = [titles, *([row[place] for place in used] for row in cells)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    if sys.stdout.isatty():
        _narrow(widths, shutil.get_terminal_size().columns)
    for line in lines:
        parts = []
        for cell, width, right in zip(line, widths, is_right, strict=True):
            text = _cut(cell, width)
            missing = " " * (width - _width(text))
            parts.append(missing + text if right else text + missing)
        print((" " * COLUMN_GAP).join(parts).rstrip())


def _narrow(widths: list[int], available: int) -> None:
    available = max(available, TABLE_WIDTH_MIN) - COLUMN_GAP * (len(widths) - 1)
    while sum(widths) > available and max(widths) > COLUMN_WIDTH_MIN:
        widest = widths.index(max(widths))
        second = max((width for place, width in enumerate(widths) if place != widest), default=0)
        excess = sum(widths) - available
        widths[widest] -= max(1, min(excess, widths[widest] - max(second, COLUMN_WIDTH_MIN)))


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    while _width(text) >= width:
        text = text[:-1]
    return text + "…"


def _width(text: str) -> int:
    """Cells on the terminal; wide characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
