"""[pure] Durations as people write them: ``500ms``, ``10 seconds``, ``15m``, ``2 hours``, ``7d``."""

import re
from typing import Final

_UNITS_MS: Final = {
    1: ("ms", "millisecond", "milliseconds"),
    1_000: ("s", "sec", "second", "seconds"),
    60_000: ("m", "min", "minute", "minutes"),
    3_600_000: ("h", "hour", "hours"),
    86_400_000: ("d", "day", "days"),
}
_FACTORS: Final = {name: factor for factor, names in _UNITS_MS.items() for name in names}
_FORM: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.ASCII)


def duration_ms(text: str) -> int:
    """Milliseconds; ValueError where the text is no duration."""
    found = _FORM.fullmatch(text.strip().lower())
    if found is None or found[2] not in _FACTORS:
        raise ValueError(f"{text!r} is no duration; write 500ms, 10s, 15m, 2h or 7 days")
    return round(float(found[1]) * _FACTORS[found[2]])


def spark_interval(text: str) -> str:
    """What Spark's windows and watermarks take: it knows no ``15m``."""
    return f"{duration_ms(text)} milliseconds"


def shown_duration(milliseconds: float) -> str:
    """``850 ms``, ``12.3 s``, ``4.0 min``: for people."""
    for factor, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if milliseconds >= factor:
            return f"{milliseconds / factor:.1f} {unit}"
    return f"{milliseconds:.0f} ms"
