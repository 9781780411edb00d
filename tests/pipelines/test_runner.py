"""Running specifications from files to files: how they end, what they tell, and what they are asked."""

import json
import urllib.error
import urllib.request

import pytest

from distributedlog.cli.main import main
from distributedlog.pipelines.errors import AlreadyRunning, PipelineError
from distributedlog.pipelines.home import Homes
from distributedlog.pipelines.runner import Stopper, one_line, run_pipeline
from distributedlog.pipelines.spec import parse_spec
from distributedlog.pipelines.state_query import look_up, scan

CLICKS = "page STRING, at TIMESTAMP"
CHANGES = "key BINARY, value BINARY, partition INT, offset LONG, timestamp TIMESTAMP"


@pytest.fixture
def home(tmp_path):
    return Homes(tmp_path / "home").at("mine")


@pytest.fixture
def files(spark, tmp_path):
    """Rows as a file of their own in a directory that a pipeline watches."""

    def write(schema, rows):
        spark.createDataFrame(rows, schema).coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
        return str(tmp_path / "in")

    return write


def spec(pipeline, path, schema, **sections):
    return parse_spec(
        {
            "name": "mine",
            "pipeline": pipeline,
            "source": {"format": "parquet", "path": path, "schema": schema},
            "run": {"trigger": "available-now", "poll": "100ms"},
            **sections,
        }
    )


def ask(home, path):
    with urllib.request.urlopen(f"http://{home.read_run()['door']}{path}", timeout=60) as answer:
        return answer.read().decode()


def test_windows_from_files_to_files(spark, home, files, tmp_path, at):
    path = files(CLICKS, [("a", at(0)), ("a", at(1)), ("b", at(2)), ("z", at(100))])
    planned = spec(
        "aggregate",
        path,
        CLICKS,
        aggregate={"by": ["page"], "time": "at", "window": "10s", "watermark": "1s", "emit": "final"},
        sink={"format": "parquet", "path": str(tmp_path / "out")},
    )
    told = []
    status = run_pipeline(planned, home, directory=tmp_path, on_status=told.append)
    assert (status.state, status.rows, status.error) == ("finished", 4, None)
    assert sorted(
        (row.page, row["count"]) for row in spark.read.parquet(str(tmp_path / "out")).collect()
    ) == [
        ("a", 2),
        ("b", 1),
    ]
    assert home.read_status() == status.as_json()
    assert told[0].state == "running"
    assert told[-1] == status
    assert not home.is_running()


def test_a_table_is_asked_while_it_runs_and_afterwards(spark, home, files, tmp_path, at, capsys):
    def dlog_query(*arguments):
        code = main(["pipeline", "query", "mine", *arguments, "--home", str(home.path.parent)])
        captured = capsys.readouterr()
        return code, captured.out or captured.err

    path = files(CHANGES, [(b"a", b"1", 0, 0, at(0)), (b"b", b"2", 0, 1, at(1)), (b"b", None, 0, 2, at(2))])
    planned = spec("materialize", path, CHANGES, run={"poll": "100ms"})
    stopper = Stopper()
    answers = {}

    def watch(status):
        if status.rows < 3 or stopper.is_asked:
            return
        with pytest.raises(AlreadyRunning, match="pipeline mine is running already"), home.locked():
            pass
        answers["found"] = json.loads(ask(home, "/query?key=a"))
        with pytest.raises(urllib.error.HTTPError) as raised:
            ask(home, "/query?key=b")
        answers["deleted"] = raised.value.code
        raised.value.close()
        answers["command"] = dlog_query("a"), dlog_query("b")
        answers["metrics"] = ask(home, "/metrics")
        answers["status"] = json.loads(ask(home, "/status"))
        stopper.ask()

    status = run_pipeline(planned, home, directory=tmp_path, on_status=watch, stopper=stopper)
    assert (status.state, status.rows, status.state_rows) == ("stopped", 3, 2)
    assert answers["found"]["value"] == "1"
    assert answers["found"]["offset"] == 0
    assert answers["deleted"] == 404
    assert 'dlog_pipeline_rows_total{pipeline="mine"} 3' in answers["metrics"]
    assert answers["status"]["state"] == "running"
    no_b = 1, "dlog: mine has no key 'b'\n"
    assert answers["command"] == ((0, "1\n"), no_b)
    assert look_up(spark, home.checkpoint, "a").value == b"1"
    assert look_up(spark, home.checkpoint, "b") is None
    assert (dlog_query("a"), dlog_query("b")) == ((0, "1\n"), no_b)
    code, out = dlog_query("--json")
    assert (code, json.loads(out)["offset"]) == (0, 0)
    assert [found.key for found in scan(spark, home.checkpoint, 10)] == [b"a"]
    files(CHANGES, [(b"a", b"3", 0, 3, at(3))])
    again = run_pipeline(spec("materialize", path, CHANGES), home, directory=tmp_path)
    assert again.rows == 1  # it went on where it stopped
    assert look_up(spark, home.checkpoint, "a").value == b"3"


HANDLER = """
from distributedlog.pipelines import Handler

FACTOR = 10


class Count(Handler):
    output = "page STRING, seen INT"

    def on_records(self, key, records, state, timers):
        yield {"page": key[0], "seen": FACTOR * sum(1 for _ in records)}
"""


def test_a_handler_from_a_file_beside_the_specification(spark, home, files, tmp_path, at):
    """Its module is one that no worker can import."""
    path = files(CLICKS, [("a", at(0)), ("a", at(1))])
    (tmp_path / "count_pages_of_a_test.py").write_text(HANDLER)
    planned = spec(
        "process",
        path,
        CLICKS,
        process={"handler": "count_pages_of_a_test.py:Count", "by": "page", "timers": "none"},
        sink={"format": "parquet", "path": str(tmp_path / "out")},
    )
    assert run_pipeline(planned, home, directory=tmp_path).error is None
    assert [tuple(row) for row in spark.read.parquet(str(tmp_path / "out")).collect()] == [("a", 20)]


def test_a_query_that_fails_says_why_in_one_line(spark, home, files, tmp_path, at):
    path = files(CHANGES, [(b"a", b"no json", 0, 0, at(0))])
    planned = spec(
        "deduplicate",
        path,
        "id STRING",
        source={"format": "parquet", "path": path, "value": "json", "schema": "id STRING"},
        deduplicate={"by": "id"},
        sink={"format": "noop"},
    )
    spark.conf.set("spark.sql.streaming.schemaInference", "true")
    try:
        status = run_pipeline(planned, home, directory=tmp_path)
    finally:
        spark.conf.unset("spark.sql.streaming.schemaInference")
    assert status.state == "failed"
    assert "MALFORMED_RECORD_IN_PARSING" in status.error
    assert "\n" not in status.error


def test_what_cannot_begin_says_why(home, files, tmp_path, at):
    path = files(CLICKS, [("a", at(0))])
    planned = spec("deduplicate", path, CLICKS, deduplicate={"by": "pag"}, sink={"format": "noop"})
    with pytest.raises(PipelineError, match="by: there is no column 'pag'; did you mean 'page'"):
        run_pipeline(planned, home, directory=tmp_path)
    assert home.read_status()["state"] == "failed"
    home.forget()
    assert home.read_status() == {}


def test_the_door_turns_away_what_it_does_not_know(home, files, tmp_path, at):
    path = files(CLICKS, [("a", at(0))])
    planned = spec(
        "deduplicate", path, CLICKS, deduplicate={"by": "page", "time": "at"}, sink={"format": "noop"}
    )
    codes = []

    def watch(status):
        if status.state == "running" and not codes:
            for place in ("/nowhere", "/query?key=a"):
                with pytest.raises(urllib.error.HTTPError) as raised:
                    ask(home, place)
                codes.append(raised.value.code)
                raised.value.close()
            codes.append(ask(home, "/healthz"))

    run_pipeline(planned, home, directory=tmp_path, on_status=watch)
    assert codes == [404, 404, '{"state": "running"}']


def test_names_of_other_pipelines_are_offered(home, tmp_path):
    homes = Homes(tmp_path / "home")
    with pytest.raises(PipelineError, match="there is no pipeline 'mine'; none has run with"):
        homes.existing("mine")
    home.write_run({"name": "mine"})
    with pytest.raises(PipelineError, match="there is no pipeline 'min'; did you mean 'mine'"):
        homes.existing("min")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[A.B] one thing\nat java…\n[C] the cause\n", "[C] the cause"),
        ("…\n  File x\ndistributedlog.x.DataLoss: gone\nmore", "DataLoss: gone"),
        ("\n just this \n", "just this"),
        ("", "RuntimeError"),
    ],
)
def test_errors_in_one_line(text, line):
    assert one_line(RuntimeError(text)) == line
