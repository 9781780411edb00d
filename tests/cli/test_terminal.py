"""What is printed for people."""

import pytest

from distributedlog.cli.terminal import counted, note, print_table, shown, shown_id, shown_size, shown_time

COLUMNS = ("name", "count>", "description")
ROWS = [
    ("orders", 12, "what was bought"),
    ("a-rather-long-name-of-a-topic", 3, None),
    ("wide", 1, "日本語 text"),
]


def printed(capsys, columns, rows):
    print_table(columns, rows)
    return capsys.readouterr().out.splitlines()


def cells(line):
    """Cells on the terminal; these letters take two."""
    return sum(2 if letter in "日本語" else 1 for letter in line)


def test_in_a_pipe_nothing_is_cut(capsys):
    assert printed(capsys, COLUMNS, ROWS) == [
        "name                           count  description",
        "orders                            12  what was bought",
        "a-rather-long-name-of-a-topic      3",
        "wide                               1  日本語 text",
    ]


@pytest.mark.parametrize("columns", [40, 45, 50])
def test_on_a_terminal_a_row_fits_a_line(capsys, terminal, columns):
    terminal(columns)
    lines = printed(capsys, COLUMNS, ROWS)
    assert max(map(cells, lines)) <= columns
    assert any("…" in line for line in lines)
    assert "12" in lines[1]


def test_a_wide_terminal_leaves_all_as_it_is(capsys, terminal):
    in_pipe = printed(capsys, COLUMNS, ROWS)
    terminal(200)
    assert printed(capsys, COLUMNS, ROWS) == in_pipe


def test_columns_without_content_are_left_out(capsys):
    assert printed(capsys, ("a", "b>", "c"), [("1", None, ""), ("2", None, "x")]) == ["a  c", "1", "2  x"]
    assert printed(capsys, ("a", "b>"), [(0, 0)]) == ["a  b", "0  0"]
    assert printed(capsys, ("a", "b>"), []) == ["a  b"]


def test_names_cannot_steer_the_terminal(capsys):
    assert printed(capsys, ("name",), [("\x1b[2J\n\u202e",)])[1] == r"\x1b[2J\n\u202e"
    note("\x1b[31m")
    assert capsys.readouterr().err == "\\x1b[31m\n"
    assert shown("\ud800") == r"\ud800"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (15_300_000, "15.3 MB"),
        (2e12, "2.0 TB"),
        (5e15, "5000.0 TB"),
    ],
)
def test_sizes(size, text):
    assert shown_size(size) == text


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (0, "1970-01-01 00:00:00.000"),
        (1_700_000_000_123, "2023-11-14 22:13:20.123"),
        (-1, "none"),
        (2**62, str(2**62)),
    ],
)
def test_times(timestamp_ms, text):
    assert shown_time(timestamp_ms) == text


def test_ids_are_written_as_kafka_writes_them():
    assert shown_id(bytes(16)) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert shown_id(b"\xff" * 16) == "_____________________w"


def test_counts():
    assert [counted(number, "record") for number in (0, 1, 1234)] == [
        "0 records",
        "1 record",
        "1,234 records",
    ]
