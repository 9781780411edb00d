"""A specification under spark-submit, whose session and master it takes.

    spark-submit --master spark://… run_pipeline.py page-counts.toml

where ``run_pipeline.py`` is ``from distributedlog.pipelines.__main__ import main; main()``. All else is as
with `dlog pipeline run`, which is the better way where no cluster's own tools have to start the driver.
"""

import argparse
import sys
from pathlib import Path

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.home import DIRECTORY_DEFAULT, DIRECTORY_VARIABLE, Homes
from distributedlog.pipelines.progress import FAILED
from distributedlog.pipelines.runner import run_pipeline
from distributedlog.pipelines.spec_file import load_spec


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="distributedlog.pipelines", allow_abbrev=False)
    parser.add_argument("spec", type=Path, help="TOML or Python file")
    parser.add_argument("--bootstrap", help="where the file names no broker")
    parser.add_argument(
        "--home", type=Path, help=f"${DIRECTORY_VARIABLE}, else {DIRECTORY_DEFAULT}", default=None
    )
    chosen = parser.parse_args(arguments)
    try:
        spec = load_spec(chosen.spec, bootstrap=chosen.bootstrap)
        status = run_pipeline(spec, Homes(chosen.home).at(spec.name), directory=chosen.spec.parent)
    except PipelineError as error:
        print(f"dlog: {error}", file=sys.stderr)
        return 1
    if status.state == FAILED:
        print(f"dlog: pipeline {spec.name} failed: {status.error}", file=sys.stderr)
        return 1
    print(f"{spec.name} is {status.state}: {status.rows:,} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
