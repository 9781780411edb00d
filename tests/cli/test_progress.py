"""The bar on standard error."""

import contextlib
import io

import pytest

from distributedlog.cli import progress
from distributedlog.cli.progress import ProgressBar


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0)
    monkeypatch.setattr(progress, "UPDATES_EVERY_SECONDS", 0)
    for name, value in {"TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return Screen()


def watch(screen, is_wanted=True):
    with contextlib.redirect_stderr(screen), ProgressBar("Writing", is_wanted) as bar:
        bar.update(0, 10, 0, 0)
        bar.update(5, 10, 1234, 5_000_000)


def test_a_bar_with_counts(screen):
    watch(screen)
    assert "Writing" in screen.getvalue()
    assert "1,234 records, 5.0 MB" in screen.getvalue()
    assert "\x1b[3" in screen.getvalue()


def test_without_colours_where_they_are_not_wanted(screen, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    watch(screen)
    assert "1,234 records" in screen.getvalue()
    assert "\x1b[3" not in screen.getvalue()


def test_nothing_where_it_cannot_move_or_nobody_watches_or_wants_it(screen, monkeypatch):
    watch(screen, is_wanted=False)
    monkeypatch.setenv("TERM", "dumb")
    watch(screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(screen, "isatty", lambda: False)
    watch(screen)
    assert screen.getvalue() == ""


def test_short_work_shows_none(screen, monkeypatch):
    monkeypatch.setattr(progress, "SILENT_SECONDS", 3600)
    watch(screen)
    assert screen.getvalue() == ""


def test_a_bar_that_was_taken_away_does_not_come_back(screen):
    with contextlib.redirect_stderr(screen), ProgressBar("Writing", is_wanted=True) as bar:
        bar.update(1, 10, 1, 1)
        bar.stop()
        written = screen.getvalue()
        bar.update(2, 10, 2, 2)
    assert screen.getvalue() == written
