"""`dlog pipeline`: what it says without Spark, and one pipeline in the background from start to end."""

import json
import os

import pytest

from distributedlog.pipelines.home import Homes
from distributedlog.pipelines.progress import Status

SPEC = """
name = "{name}"
pipeline = "deduplicate"
[source]
format = "rate"
options.rowsPerSecond = 20
[deduplicate]
by = "value"
[sink]
format = "noop"
"""


@pytest.fixture
def homes(tmp_path, monkeypatch):
    monkeypatch.setenv("DLOG_PIPELINES", str(tmp_path / "pipelines"))
    return Homes(tmp_path / "pipelines")


@pytest.fixture
def make(homes):
    """A pipeline that has run, as its files tell."""

    def make(name, status=None, **run):
        home = homes.at(name)
        content = {"name": name, "pipeline": ["materialize"], "master": "local[*]", "process": 1, **run}
        home.write_run(content)
        home.write_status((status or Status(state="stopped")).as_json())
        return home

    return make


@pytest.fixture
def spec(tmp_path):
    def write(text=SPEC, name="mine"):
        path = tmp_path / "spec.toml"
        path.write_text(text.replace("{name}", name))
        return path

    return write


def test_a_specification_is_checked(run, spec):
    outcome = run("pipeline", "run", spec(), "--check")
    assert outcome.code == 0
    assert outcome.out.endswith("spec.toml is right: mine, deduplicate\n")


def test_what_is_wrong_with_it_is_one_line(run, spec):
    outcome = run("pipeline", "run", spec(SPEC.replace("by =", "withn =")))
    assert outcome.code == 2
    assert outcome.err.startswith("dlog: ")
    assert outcome.err.endswith("spec.toml: [deduplicate] has no key 'withn'; did you mean 'within'?\n")
    assert run("pipeline", "run", "nowhere.toml").err == "dlog: nowhere.toml: there is no such file\n"


def test_list_and_status(run, homes, make):
    assert run("pipeline", "list").out == ""
    make("one", Status("stopped", 7, 1200, 3.0, 5, "2026-01-01T00:00:00.000Z", 9, 2048, 4, 150))
    with make("two", Status(state="running")).locked():
        listed = run("pipeline", "list").lines
        assert [line.split()[:2] for line in listed] == [
            ["pipeline", "state"],
            ["one", "stopped"],
            ["two", "running"],
        ]
        shown = run("pipeline", "status")
    assert shown.code == 0
    assert " ".join(shown.lines[1].split()) == "one stopped 7 1,200 5 2026-01-01 00:00:00 9 / 2.0 kB 4 150 ms"
    (entry,) = run("pipeline", "status", "one", "--json").json
    assert (entry["pipeline"], entry["lag"], entry["late"]) == ("one", 5, 4)


def test_the_live_table_shows_all_and_what_is_wrong(make, homes):
    from rich.console import Console

    from distributedlog.cli.pipeline_status import _table

    make("one", Status(state="failed", error="no such topic"))
    make("two", Status(state="finished", rows=1200, batch=3))
    console = Console(width=120, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(_table(homes.all()))
    console.file.close()
    text = console.export_text()
    assert "one: no such topic" in text
    assert "1,200" in text


def test_a_process_that_is_gone_without_a_word_is_noticed(run, make):
    make("one", Status(state="running"))
    outcome = run("pipeline", "status")
    assert outcome.code == 1
    assert "died" in outcome.out
    assert "one: its process is gone; see " in outcome.err


@pytest.mark.parametrize("command", ["status", "stop", "reset", "query"])
def test_a_name_that_is_none(run, make, command):
    make("orders")
    outcome = run("pipeline", command, "order")
    assert (outcome.code, outcome.err) == (1, "dlog: there is no pipeline 'order'; did you mean 'orders'?\n")


def test_what_does_not_run_cannot_be_stopped(run, make):
    make("orders")
    assert run("pipeline", "stop", "orders").err == "dlog: pipeline orders is not running\n"


def test_reset_forgets_only_when_sure(run, make):
    home = make("orders")
    home.checkpoint.mkdir()
    assert "--yes says you know" in run("pipeline", "reset", "orders").err
    assert home.checkpoint.exists()
    with home.locked():
        assert "stop it first: dlog pipeline stop orders" in run("pipeline", "reset", "orders", "--yes").err
    assert run("pipeline", "reset", "orders", "--yes").out == "orders begins anew with its next run\n"
    assert not home.checkpoint.exists()
    make("far", checkpoint="s3a://there")
    assert "the checkpoint of far is s3a://there" in run("pipeline", "reset", "far", "--yes").err


def test_only_tables_are_asked(run, make):
    make("counts", pipeline=["aggregate"])
    assert run("pipeline", "query", "counts", "a").err == (
        "dlog: counts is a pipeline of aggregate; only materialize holds a table\n"
    )


def test_a_declarative_project_is_written_once(run, spec, tmp_path):
    path = spec()
    outcome = run("pipeline", "declare", path, tmp_path / "project")
    assert outcome.code == 0
    project = (tmp_path / "project" / "spark-pipeline.yml").read_text()
    assert "name: mine\n" in project
    assert "transformations/**" in project
    assert str(path) in (tmp_path / "project" / "transformations" / "mine.py").read_text()
    assert (
        "is there already; --force replaces it" in run("pipeline", "declare", path, tmp_path / "project").err
    )
    assert run("pipeline", "declare", path, tmp_path / "project", "--force").code == 0


def test_what_cannot_be_declared_is_said(run, spec, tmp_path):
    table = 'name = "t"\npipeline = "materialize"\n[source]\nsubscribe = "users"\n'
    outcome = run("pipeline", "declare", spec(table), tmp_path / "project")
    assert outcome.code == 1
    assert "a declarative pipeline cannot write results that change; use `dlog pipeline run`" in outcome.err


def test_in_the_background_from_start_to_end(run, homes, spec):
    path = spec()
    started = run("pipeline", "run", path, "--detach", "--master", "local[1]")
    assert (started.code, started.err) == (0, "")
    assert started.out.startswith("mine is running, process ")
    try:
        twice = run("pipeline", "run", path, "--detach")
        assert twice.err == "dlog: pipeline mine is running already\n"
        (status,) = run("pipeline", "status", "mine", "--json").json
        assert status["state"] == "running"
    finally:
        stopped = run("pipeline", "stop", "mine")
    assert (stopped.code, stopped.out) == (0, "mine is stopped\n")
    assert json.loads((homes.at("mine").path / "status.json").read_text())["state"] == "stopped"
    assert not homes.at("mine").is_running()
