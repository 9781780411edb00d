"""`dlog pipeline stop | reset`."""

import argparse
import os
import signal
import sys
import time
from typing import Final

from distributedlog.cli.cluster_work import complain
from distributedlog.pipelines.errors import AlreadyRunning, NotRunning, PipelineError
from distributedlog.pipelines.home import Homes, PipelineHome

EXIT_FAILED: Final = 1
_POLL_SECONDS: Final = 0.1


def stop(arguments: argparse.Namespace) -> int:
    code = 0
    for name in arguments.names:
        try:
            _stop(Homes(arguments.home).existing(name), arguments.timeout)
            print(f"{name} is stopped")
        except PipelineError as error:
            complain(str(error))
            code = EXIT_FAILED
    return code


def reset(arguments: argparse.Namespace) -> int:
    code = 0
    for name in arguments.names:
        try:
            _reset(Homes(arguments.home).existing(name), is_sure=arguments.yes)
        except PipelineError as error:
            complain(str(error))
            code = EXIT_FAILED
    return code


def _stop(home: PipelineHome, timeout_seconds: float) -> None:
    """The lock says whether it runs, so that no other process can be meant whatever became of its number."""
    process = home.read_run().get("process")
    if not home.is_running() or not isinstance(process, int):
        raise NotRunning(f"pipeline {home.name} is not running")
    try:
        os.kill(process, signal.SIGTERM)
    except ProcessLookupError:
        raise PipelineError(f"pipeline {home.name} runs on another machine; stop it there") from None
    deadline = time.monotonic() + timeout_seconds
    while home.is_running():
        if time.monotonic() > deadline:
            raise PipelineError(
                f"pipeline {home.name} has not ended in {timeout_seconds:g} s; process {process}"
            )
        time.sleep(_POLL_SECONDS)


def _reset(home: PipelineHome, *, is_sure: bool) -> None:
    elsewhere = home.read_run().get("checkpoint")
    if elsewhere:
        raise PipelineError(
            f"the checkpoint of {home.name} is {elsewhere}; delete it yourself, if it is to go"
        )
    if not is_sure:
        if not sys.stdin.isatty():
            raise PipelineError(
                f"reset {home.name}: its position and state would be lost; --yes says you know"
            )
        if input(f"Forget the position and the state of {home.name}? [y/N] ").strip().lower() not in {
            "y",
            "yes",
        }:
            print(f"{home.name} stays as it is")
            return
    try:
        with home.locked():
            home.forget()
    except AlreadyRunning:
        raise PipelineError(
            f"pipeline {home.name} is running; stop it first: dlog pipeline stop {home.name}"
        ) from None
    print(f"{home.name} begins anew with its next run")
