"""The report of `make bench`."""

import json
import sys
import types

import pytest
from bench.figure import Figure
from bench.report import bar_text, describe_machine, number, print_table, verdict, write_chart, write_json
from rich.console import Console

from bench import __main__ as program
from bench import records, wire

FIGURES = [
    Figure(
        "append [bold]", 800_000.0, "records/s", ratio_bar=0.5, ceiling=1_000_000.0, ceiling_is="a write [x]"
    ),
    Figure(
        "decode", 7.5, "µs", bar=6.0, ceiling=2.5, ceiling_is="by hand, unchecked", higher_is_better=False
    ),
    Figure("just so", 3.0, "ms"),
]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.012345, "0.0123"), (4.5678, "4.57"), (99.99, "100"), (1_234_567, "1,230,000")],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_a_bar_says_whether_it_judges_the_ratio():
    assert [bar_text(figure) for figure in FIGURES] == ["ratio ≥ 0.5", "≤ 6", ""]
    assert verdict({"log": FIGURES}) == "1 of 2 bars met."


def test_the_table_has_every_figure(capsys):
    print_table(Console(width=160), {"log": FIGURES}, describe_machine(), quick=False)
    out = capsys.readouterr().out
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "append [bold] 800,000 records/s 1,000,000 1 0.8 ratio ≥ 0.5 met" in rows
    assert "decode 7.5 µs 2.5 2 3 ≤ 6 NOT MET" in rows
    assert "just so 3 ms" in rows
    assert "1 a write [x]" in out
    assert "2 by hand, unchecked" in out


def test_equal_ceilings_are_explained_once(capsys):
    print_table(Console(width=160), {"one": FIGURES[:1], "two": FIGURES[:1]}, describe_machine(), quick=False)
    assert capsys.readouterr().out.count("a write [x]") == 1


def test_a_table_in_a_pipe_has_110_columns_at_most(modules, capsys):
    widest = Figure(
        "a name as long as nobody should write one, " * 3,
        123_456_789.0,
        "M records/s",
        bar=123_456_789.0,
        ceiling=123_456_789.0,
        ceiling_is="words about the ceiling, " * 10,
    )
    modules(one=lambda quick: [*FIGURES, widest])
    assert program.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 110
    assert any("123,000,000 M records/s" in line and "≥ 123,000,000" in line for line in lines)


def test_json_and_chart_are_written(tmp_path):
    machine = describe_machine()
    write_json(tmp_path / "bench.json", {"log": FIGURES}, machine, quick=True)
    content = json.loads((tmp_path / "bench.json").read_text())
    assert content["quick"] is True
    assert content["machine"].keys() >= {"date", "processor", "cores", "python"}
    assert content["figures"][0]["ratio"] == 0.8
    assert content["figures"][0]["ceiling_is"] == "a write [x]"
    assert content["figures"][1]["met"] is False
    assert content["figures"][1]["times_bar"] == 0.8
    write_chart([tmp_path / "bench.svg", tmp_path / "bench.png"], {"log": FIGURES}, machine)
    assert "log: decode" in (tmp_path / "bench.svg").read_text()
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_a_chart_without_bars_is_no_error(tmp_path):
    write_chart([tmp_path / "bench.svg"], {"log": FIGURES[2:]}, describe_machine())
    assert (tmp_path / "bench.svg").exists()


@pytest.fixture
def modules(monkeypatch, tmp_path):
    def install(**collects):
        monkeypatch.setattr(program, "module_names", lambda: list(collects))
        for name, collect in collects.items():
            module = types.ModuleType(f"bench.{name}")
            module.collect = collect
            monkeypatch.setitem(sys.modules, f"bench.{name}", module)
        monkeypatch.setattr(sys, "argv", ["bench", "--quick", "--build", str(tmp_path)])

    return install


def test_a_missed_bar_is_no_failure(modules, tmp_path):
    modules(one=lambda quick: FIGURES)
    assert program.main() == 0
    assert json.loads((tmp_path / "bench-quick.json").read_text())["quick"] is True


def test_a_crash_is_a_failure_and_the_others_are_measured(modules, tmp_path, capsys):
    def crash(quick):
        raise ZeroDivisionError("here")

    modules(one=crash, two=lambda quick: FIGURES)
    assert program.main() == 1
    captured = capsys.readouterr()
    assert "ZeroDivisionError: here" in captured.err
    assert "Crashed: one" in captured.err
    assert "just so" in captured.out


def test_every_module_of_the_folder_is_found():
    assert {"wire", "records"} <= set(program.module_names())
    helpers = {"__main__", "bare_files", "by_hand", "figure", "report", "timing"}
    assert not set(program.module_names()) & helpers


@pytest.mark.parametrize("module", [wire, records])
def test_every_figure_has_a_ceiling(module):
    figures = module.collect(quick=True)
    assert figures
    assert [figure.name for figure in figures if figure.ceiling is None] == []
