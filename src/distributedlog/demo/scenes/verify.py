"""Having the files checked by a program of their own, the one that users have: `dlog log verify`."""

import subprocess
import sys

from distributedlog.demo.stage import Stage

TITLE = "Check every file that is on the disk: dlog log verify --records"


def play(stage: Stage) -> None:
    paths = sorted(str(path) for path in stage.directory.iterdir() if path.is_dir())
    command = [sys.executable, "-m", "distributedlog.cli.main", "log", "verify", "--records", *paths]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    stage.claim(
        done.returncode == 0,
        f"{len(paths)} logs, sound to the last record",
        "damage: " + "; ".join((done.stdout + done.stderr).splitlines()[-3:]),
    )
