"""`dlog pipeline query`."""

import argparse
import json
import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import urlencode

from distributedlog.cli.cluster_work import complain
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.terminal import print_table, shown
from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.home import Homes, PipelineHome

EXIT_FAILED: Final = 1
_DOOR_SECONDS: Final = 60


def query(arguments: argparse.Namespace) -> int:
    try:
        home = Homes(arguments.home).existing(arguments.name)
        kinds = home.read_run().get("pipeline") or ["?"]
        if kinds[-1] != "materialize":
            raise PipelineError(f"{home.name} is a pipeline of {kinds[-1]}; only materialize holds a table")
        if arguments.key is None:
            return _show_first(home, arguments)
        found = (
            _ask_the_door(home, arguments.key) if home.is_running() else _ask_the_state(home, arguments.key)
        )
    except PipelineError as error:
        complain(str(error))
        return EXIT_FAILED
    if found is None:
        complain(f"{home.name} has no key {arguments.key!r}")
        return EXIT_FAILED
    if arguments.json:
        print_json(**found)
    else:
        print(shown(found["value"]))
    return 0


def _ask_the_door(home: PipelineHome, key: str) -> dict[str, Any] | None:
    """A running pipeline has a session already: the answer takes tenths of a second."""
    door = home.read_run().get("door")
    if not door:
        raise PipelineError(f"{home.name} is only just starting; ask again")
    try:
        with urllib.request.urlopen(
            f"http://{door}/query?{urlencode({'key': key})}", timeout=_DOOR_SECONDS
        ) as answer:
            content: dict[str, Any] = json.load(answer)
            return content
    except urllib.error.HTTPError as error:
        with error:
            content = json.load(error)
        if error.code == 404:
            return None
        raise PipelineError(content.get("error", str(error))) from None
    except OSError as error:
        raise PipelineError(f"{home.name} does not answer on {door}: {error}") from None


def _ask_the_state(home: PipelineHome, key: str) -> dict[str, Any] | None:
    from distributedlog.pipelines.state_query import look_up

    found = look_up(_session(home), _checkpoint(home), key)
    return None if found is None else found.as_json()


def _show_first(home: PipelineHome, arguments: argparse.Namespace) -> int:
    from distributedlog.pipelines.state_query import scan

    rows = [found.as_json() for found in scan(_session(home), _checkpoint(home), arguments.limit)]
    if arguments.json:
        for row in rows:
            print_json(**row)
    elif rows:
        print_table(("key", "value"), [(row["key"], row["value"]) for row in rows])
    return 0


def _session(home: PipelineHome) -> Any:
    from distributedlog.pipelines.session import open_session

    return open_session(f"query {home.name}", "local[2]", {}, has_lock=False, log=home.log)


def _checkpoint(home: PipelineHome) -> str:
    return str(home.read_run().get("checkpoint") or home.checkpoint.absolute())
