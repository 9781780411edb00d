"""Which names topics may have [pure]. They are names of directories too, and of metrics, where '.' and '_'
become the same: hence two topics whose names differ only in these collide."""

import re
from collections.abc import Iterable
from typing import Final

from distributedlog.cluster.refused import Refused
from distributedlog.wire.error_codes import ErrorCode

NAME_LENGTH_MAX: Final = 249
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
_SHOWN_MAX: Final = 300


def check_name(name: str | None) -> None:
    """Refused with INVALID_TOPIC_EXCEPTION unless a topic may have this name."""
    if not name:
        reason = "a topic's name cannot be empty"
    elif name in (".", ".."):
        reason = "a topic's name cannot be . or .."
    elif len(name) > NAME_LENGTH_MAX:
        reason = f"a topic's name has {NAME_LENGTH_MAX} characters at most, this one {len(name)}"
    elif not _NAME.fullmatch(name):
        reason = f"{name[:_SHOWN_MAX]!r} has other characters than ASCII letters, digits, '.', '_' and '-'"
    else:
        return
    raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def is_valid_name(name: str | None) -> bool:
    """Whether a topic may have this name."""
    try:
        check_name(name)
    except Refused:
        return False
    return True


def check_collision(name: str, names: Iterable[str]) -> None:
    """Refused when another topic's name differs only in '.' and '_'."""
    if "." not in name and "_" not in name:
        return
    wanted = name.replace(".", "_")
    for other in names:
        if len(other) == len(name) and other != name and other.replace(".", "_") == wanted:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"topic {name!r} collides with the existing topic {other!r}",
            )
