"""Log lines on standard error: for people on a terminal, JSON objects for everything else."""

import logging
import sys
import time
from typing import Final, TextIO

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
ROOT: Final = "distributedlog"


class HumanFormatter(logging.Formatter):
    """``22:47:13.123 warning  text``, and a traceback where there is one."""

    def __init__(self) -> None:
        super().__init__("%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        return f"{clock}.{record.msecs:03.0f} {record.levelname.lower():7} {super().format(record)}"


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, and the traceback of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        import json  # noqa: PLC0415  (not needed before the first line)

        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry = {
            "time": f"{seconds}.{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def set_up(form: str, level: str, stream: TextIO | None = None) -> logging.Handler:
    """Send this package's log lines, and asyncio's, to the stream; returns the handler, to take away."""
    stream = sys.stderr if stream is None else stream
    is_human = form == "human" or (form == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(HumanFormatter() if is_human else JsonFormatter())
    for name in (ROOT, "asyncio"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(_LEVELS[level])
        logger.propagate = False
    return handler
