"""Moments and durations as people write them on a command line."""

import argparse
import re
from typing import Final

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_UNIT_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_TIMESTAMP_MAX: Final = 2**63 - 1

MOMENT_HELP: Final = (
    "a date and time (2026-01-31T12:00, local time unless it says otherwise), milliseconds since 1970, "
    "or how long ago (15m, 2h, 3d)"
)


def duration_ms(text: str) -> int:
    """``90s``, ``15m``, ``1.5h``, ``3d``; and several in a row, ``1h30m``."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration: write it as 90s, 15m, 2h or 3d")
    return _bounded(text, sum(float(number) * _UNIT_MS[unit] for number, unit in parts))


def moment_ms(text: str) -> int:
    """Milliseconds since 1970. See `MOMENT_HELP`; how long ago is counted from now."""
    if text.isascii() and text.isdigit():
        return _bounded(text, int(text))
    from datetime import datetime

    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        pass
    try:
        ago = duration_ms(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is no moment: write {MOMENT_HELP}") from None
    import time

    return max(0, time.time_ns() // 1_000_000 - ago)


def _bounded(text: str, value: float) -> int:
    if value > _TIMESTAMP_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is beyond all calendars")
    return int(value)


def shown_duration(milliseconds: int) -> str:
    """As `duration_ms` reads it, in the two largest units that are not zero: ``1h30m``, ``500ms``."""
    rest, parts = max(0, milliseconds), []
    for unit, unit_ms in sorted(_UNIT_MS.items(), key=lambda each: -each[1]):
        count, rest = divmod(rest, unit_ms)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0ms"
