"""`dlog demo`, with few records."""

import pytest

from distributedlog.cli import demo_run
from distributedlog.cli.main import main


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(demo_run, "LOOKUPS", 50)
    monkeypatch.setattr(demo_run, "ACKED_BEFORE_KILL", 100)


def test_the_demo_shows_its_figures_and_loses_nothing(few, capsys, tmp_path):
    assert main(["demo", "--records", "2500", "--directory", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "Every record read and every offset looked up was the right one." in out
    assert "2,500 records" in out
    assert "Acknowledged and lost: 0. Altered: 0." in out
    assert main(["log", "verify", "--records", str(tmp_path / "events"), str(tmp_path / "killed")]) == 0


def test_it_does_not_touch_a_log_that_is_there(few, capsys, tmp_path):
    (tmp_path / "events").mkdir()
    assert main(["demo", "--records", "10", "--directory", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().out
    assert list((tmp_path / "events").iterdir()) == []


@pytest.mark.parametrize("count", ["0", "many", "-1"])
def test_a_count_that_is_none_is_a_usage_error(capsys, count):
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--records", count])
    assert stopped.value.code == 2


def test_a_lost_record_fails_the_demo(few, monkeypatch, capsys, tmp_path):
    """Acknowledged offsets that are not in the log have to be noticed."""

    def note_one_more(line, acked):
        acked[10**9] = 1
        demo_run_note_acked(line, acked)

    demo_run_note_acked = demo_run.note_acked
    monkeypatch.setattr(demo_run, "note_acked", note_one_more)
    assert main(["demo", "--records", "100", "--directory", str(tmp_path)]) == 1
    assert "Acknowledged and lost: 1." in capsys.readouterr().out
