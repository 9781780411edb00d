"""Running a load in a process of its own, so that its interpreter lock is not the broker's nor ours."""

import json
import subprocess
import sys
from typing import Any

SECONDS_MAX = 300


def run_load(module: str, *arguments: object) -> dict[str, Any]:
    """What a load module prints at its end."""
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{module}", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{module} {arguments} failed:\n{done.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
