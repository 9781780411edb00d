"""The README's figures are written by a program."""

import json

import pytest

from bench import readme

FIGURE = {
    "module": "start", "name": "idle memory", "value": 36.2, "unit": "MB", "ceiling": 395.0,
    "ceiling_is": "Kafka", "bar": None, "ratio_bar": 1 / 6, "higher_is_better": False,
}  # fmt: skip
CONTENT = {
    "quick": False,
    "machine": {"date": "2026-11-19", "processor": "P", "cores": 2, "load_1_minute": 0.1, "python": "3.11",
                "commit": "abc"},
    "figures": [FIGURE],
}  # fmt: skip


def test_a_table_says_value_comparison_bar_and_where_it_was_measured():
    text = readme.tables([CONTENT])
    assert "| idle memory | 36.2 MB | 395 | 0.0916 | ratio ≤ 0.167 | met |" in text
    assert "2026-11-19, P, 2 cores" in text
    assert "Apache Kafka" not in text, "a table without rows"


def test_what_stood_there_is_replaced():
    text = f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n"
    assert readme.with_tables(text, "new\n") == f"before\n{readme.BEGIN}\n\nnew\n\n{readme.END}\nafter\n"
    with pytest.raises(ValueError, match="no place for figures"):
        readme.with_tables("nothing", "new")


def test_the_readme_has_a_place_for_them():
    text = readme.README.read_text()
    assert readme.with_tables(text, "x") != text


def test_figures_of_a_quick_run_are_refused(tmp_path, capsys):
    file = tmp_path / "bench.json"
    file.write_text(json.dumps({**CONTENT, "quick": True}))
    before = readme.README.read_text()
    assert readme.main([str(file)]) == 1
    assert "mean nothing" in capsys.readouterr().err
    assert readme.README.read_text() == before
