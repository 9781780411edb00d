"""The click stream of the demo: its truth, its chart, and the scene itself, with few clicks."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from distributedlog.demo.runner import run_demo
from distributedlog.demo.scenes import click_stream
from distributedlog.demo.scenes.click_stream_chart import bar, counts_table, write_png
from distributedlog.demo.scenes.click_stream_events import (
    DELAY_MS_MAX,
    NOWHERE,
    WINDOW_MS,
    country_of,
    day,
    user_table,
)
from distributedlog.demo.scenes.click_stream_topics import result_of
from distributedlog.spark.errors import NoJava

COUNTS = {(0, "de"): (3, 150), (0, "fr"): (1, 0), (60_000, "de"): (2, 99)}


# -- events and truth ---------------------------------------------------------------------------------


def test_a_day_follows_from_its_seed():
    one, same, other = day(500, 7, 5), day(500, 7, 5), day(500, 8, 5)
    assert one.clicks == same.clicks
    assert one.truth == same.truth
    assert one.clicks != other.clicks


def test_some_come_late_and_some_twice_and_the_truth_counts_each_once():
    made = day(2_000, 7, 5)
    assert len(made.clicks) == 2_000 + made.duplicates
    assert made.duplicates > 50
    assert made.delayed > 100
    assert len({click.number for click in made.clicks}) == 2_000
    assert sum(clicks for clicks, _ in made.truth.values()) == 2_000
    counts = Counter()
    for click in {click.number: click for click in made.clicks}.values():
        counts[click.at_ms // WINDOW_MS * WINDOW_MS, country_of(click.user)] += 1
    assert {place: clicks for place, (clicks, _) in made.truth.items()} == counts


def test_nothing_comes_later_than_the_watermark_allows():
    newest = 0
    for click in day(2_000, 7, 5).clicks:
        newest = max(newest, click.at_ms)
        assert newest - click.at_ms <= DELAY_MS_MAX


def test_the_table_of_users_says_where_each_is_from():
    table = {}
    for key, value in user_table():
        table[key.decode()] = value and json.loads(value)["country"]
    assert {user: country or NOWHERE for user, country in table.items()} == {
        user: country_of(user) for user in table
    }
    assert None in table.values()


def test_a_result_without_a_country_is_nowhere():
    content = {"window_start": "2026-06-01T09:00:00.000Z", "clicks": 2, "cents": 3}
    assert result_of(content) == (1_780_304_400_000, NOWHERE, 2, 3)


# -- chart --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "text"), [(0, ""), (4, "█" * 22), (1, "█████▌"), (2, "█" * 11)])
def test_bars(value, text):
    assert bar(value, 4) == text


def test_the_table_fits_80_columns_and_adds_up():
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    many = {
        (hour * 60_000, country): (999, 10**7)
        for hour in range(3)
        for country in ("de", "fr", "jp", "none", "us")
    }
    console.print(counts_table(many))
    console.print(counts_table(COUNTS, is_ascii=True))
    console.file.close()
    text = console.export_text()
    assert "…" not in text
    assert "###################### 4" in text
    assert "4,995" in text


def test_a_picture(tmp_path, monkeypatch):
    assert write_png(COUNTS, tmp_path / "clicks.png")
    assert (tmp_path / "clicks.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr("distributedlog.demo.scenes.click_stream_chart.find_spec", lambda _: None)
    assert not write_png(COUNTS, tmp_path / "other.png")


# -- the scene ----------------------------------------------------------------------------------------


def test_without_java_the_scene_is_left_out(monkeypatch, capsys):
    def none():
        raise NoJava("Spark needs Java 17 or later, and there is none")

    monkeypatch.setattr("distributedlog.spark.java.find_java_home", none)
    assert run_demo(10, None, (click_stream,)) == 0
    assert "left out: Spark needs Java 17 or later, and there is none" in capsys.readouterr().out


def test_without_spark_the_scene_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(click_stream, "find_spec", lambda name: None if name == "pyspark" else object())
    assert run_demo(10, None, (click_stream,)) == 0
    assert "left out: pyspark missing; pip install 'distributedlog[spark]'" in capsys.readouterr().out


@pytest.mark.timeout(600)
def test_the_truth_comes_out_while_things_die(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, value in {"CLICKS": 2_000, "WINDOWS": 3, "CHUNK": 200, "AHEAD": 1_000, "TOO_LATE": 20}.items():
        monkeypatch.setattr(click_stream, name, value)
    assert run_demo(10, tmp_path / "kept", (click_stream,)) == 0, capsys.readouterr().out
    out = " ".join(capsys.readouterr().out.split())
    assert "All 3 claims above were checked, and hold." in out
    for what in ("a worker of Spark", "killed the broker", "archived as Parquet", "as a picture"):
        assert what in out
    assert (tmp_path / "kept" / "click-stream" / "clicks.png").exists()
    shutil.rmtree(tmp_path / "kept")


def test_a_wrong_result_is_noticed(capsys):
    """Missing, doubled and altered counts, each alone."""
    made = day(200, 7, 2)
    right = Counter({(window, country, *numbers): 1 for (window, country), numbers in made.truth.items()})
    one = next(iter(right))
    wrong = {
        "missing": right - Counter({one: 1}),
        "doubled": right + Counter({one: 1}),
        "altered": right - Counter({one: 1}) + Counter({(*one[:2], one[2] + 1, one[3]): 1}),
    }

    class Scene:
        TITLE = "meanwhile"

        @staticmethod
        def play(stage):
            showing = click_stream.Play(stage, Path(), None, made, 0.0)
            for what, found in wrong.items():
                click_stream.compare(showing, found, what)
            click_stream.compare(showing, right, "right")

    assert run_demo(10, None, (Scene,)) == 1
    out = capsys.readouterr().out
    assert all(f"{what} is not the truth" in out for what in wrong)
    assert "right holds" in out
